// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"
#include "tests/support/plain_attention.h"

namespace cornu::cpu::testing {
namespace {

using test::PlainAttention;

const KernelRunner& kernels() {
  static const KernelRunner runner(register_attention_kernels);
  return runner;
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 4e-3;
    case DType::BFloat16:
      return 3e-2;
    case DType::Float32:
      return 2e-5;
    default:
      return 1e-11;
  }
}

DType wide(DType dtype) { return dtype == DType::Float64 ? dtype : DType::Float32; }

// The kernels' inputs and outputs.
struct Run {
  Run(const PlainAttention& plain, DType dtype) {
    const auto tensor = [&](const std::vector<double>& values, const Shape& shape) {
      return tensor_of(values, shape, dtype);
    };
    inputs_ = {tensor(plain.q, plain.query_shape()), tensor(plain.k, plain.key_shape()),
               tensor(plain.v, plain.value_shape())};
    dy_ = tensor(plain.dy, plain.output_shape());
    if (!plain.bias.empty()) optional_.push_back(tensor(plain.bias, plain.bias_shape));
    if (!plain.mask.empty()) {
      optional_.push_back(tensor_of(plain.mask, plain.mask_shape, DType::Bool));
    }
    attributes_ = {{"scale", plain.scale},
                   {"causal", plain.causal},
                   {"bias", !plain.bias.empty()},
                   {"mask", !plain.mask.empty()}};
    if (plain.dropout > 0) {
      optional_.push_back(tensor_of(plain.kept, plain.scores_shape(), DType::Bool));
      attributes_.set("dropout", plain.dropout);
    }
    outputs_ = {{dtype, plain.output_shape()},
                {wide(dtype), {plain.batch, plain.heads, plain.rows, 2}}};
  }

  std::vector<Tensor> forward() const {
    return kernels().run("attention", forward_inputs(), attributes_, outputs_);
  }
  std::vector<Tensor> backward(const std::vector<Tensor>& forward) const {
    return kernels().run("attention_grad", backward_inputs(forward), grad_attributes(),
                         grad_outputs());
  }
  void check_threads() const {
    check_thread_independent(kernels(), "attention", forward_inputs(), attributes_, outputs_);
    check_thread_independent(kernels(), "attention_grad", backward_inputs(forward()),
                             grad_attributes(), grad_outputs());
  }

 private:
  bool has_bias() const { return attributes_.get_bool("bias"); }
  std::vector<Tensor> forward_inputs() const {
    std::vector<Tensor> inputs = inputs_;
    inputs.insert(inputs.end(), optional_.begin(), optional_.end());
    return inputs;
  }
  std::vector<Tensor> backward_inputs(const std::vector<Tensor>& forward) const {
    std::vector<Tensor> inputs = inputs_;
    inputs.insert(inputs.end(), {forward[0], forward[1], dy_});
    inputs.insert(inputs.end(), optional_.begin(), optional_.end());
    return inputs;
  }
  Attributes grad_attributes() const {
    Attributes attributes = attributes_;
    attributes.set("bias_gradient", has_bias());
    return attributes;
  }
  std::vector<TensorType> grad_outputs() const {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs_) types.push_back(type_of(input));
    if (has_bias()) types.push_back(type_of(optional_[0]));
    return types;
  }

  std::vector<Tensor> inputs_, optional_;
  Tensor dy_;
  Attributes attributes_;
  std::vector<TensorType> outputs_;
};

// Numbers that every dtype represents exactly, so that rounding the inputs adds no error.
std::vector<double> numbers(const Shape& shape, uint64_t seed) {
  return values_of(random_tensor(shape, DType::BFloat16, seed));
}

void fill(PlainAttention& plain) {
  plain.q = numbers(plain.query_shape(), 1);
  plain.k = numbers(plain.key_shape(), 2);
  plain.v = numbers(plain.value_shape(), 3);
  plain.dy = numbers(plain.output_shape(), 4);
  if (plain.bias_shape.rank() == 4) plain.bias = numbers(plain.bias_shape, 5);
  if (plain.mask_shape.rank() == 4) {
    plain.mask = values_of(random_tensor(plain.mask_shape, DType::Bool, 6));
  }
  if (plain.dropout > 0 && plain.kept.empty()) {
    plain.kept = values_of(random_tensor(plain.scores_shape(), DType::Bool, 7));
  }
}

void check_against_plain(PlainAttention plain, DType dtype) {
  CAPTURE(dtype);
  CAPTURE(plain.query_shape().to_string());
  CAPTURE(plain.key_shape().to_string());
  fill(plain);
  plain.compute();
  const Run run(plain, dtype);
  const double tolerance = tolerance_of(dtype);
  const std::vector<Tensor> forward = run.forward();
  check_close(forward[0], plain.y, tolerance);
  const std::vector<Tensor> gradients = run.backward(forward);
  // 16-bit outputs are rounded before they are used.
  const double more = dtype == DType::Float64 ? 1 : 8;
  check_close(gradients[0], plain.dq, more * tolerance);
  check_close(gradients[1], plain.dk, more * tolerance);
  check_close(gradients[2], plain.dv, more * tolerance);
  if (!plain.bias.empty()) check_close(gradients[3], plain.dbias, more * tolerance);
}

const DType kFloating[] = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

TEST_CASE("attention and its gradients, of every dtype and instruction set") {
  for_each_instruction_set([] {
    for (const DType dtype : kFloating) {
      check_against_plain({.batch = 2,
                           .rows = 5,
                           .columns = 7,
                           .heads = 4,
                           .keys = 2,
                           .size = 3,
                           .width = 6,
                           .scale = 0.5,
                           .bias_shape = {2, 4, 5, 7},
                           .mask_shape = {2, 1, 1, 7}},
                          dtype);
    }
  });
}

TEST_CASE("attention over several blocks, with ends of blocks") {
  const Shape biases[] = {{}, {2, 4, 135, 300}, {1, 4, 1, 300}, {2, 1, 135, 1}, {1, 1, 1, 1}};
  const Shape masks[] = {{}, {2, 1, 135, 300}, {1, 1, 135, 1}};
  for (const Shape& bias : biases) {
    for (const Shape& mask : masks) {
      for (const bool causal : {false, true}) {
        CAPTURE(bias.to_string());
        CAPTURE(mask.to_string());
        CAPTURE(causal);
        for (const DType dtype : {DType::Float32, DType::BFloat16}) {
          check_against_plain({.batch = 2,
                               .rows = 135,
                               .columns = 300,
                               .heads = 4,
                               .keys = 2,
                               .size = 8,
                               .width = 5,
                               .scale = 0.35,
                               .causal = causal,
                               .bias_shape = bias,
                               .mask_shape = mask},
                              dtype);
        }
      }
    }
  }
  for (const bool causal : {false, true}) {
    check_against_plain({.rows = 300,
                         .columns = 70,
                         .heads = 2,
                         .keys = 2,
                         .size = 4,
                         .width = 4,
                         .scale = 0.5,
                         .causal = causal},
                        DType::Float64);
    check_against_plain({.rows = 128,
                         .columns = 512,
                         .heads = 3,
                         .size = 4,
                         .width = 16,
                         .scale = 0.5,
                         .causal = causal},
                        DType::Float32);
  }
}

TEST_CASE("attention of single elements and of nothing") {
  for (const DType dtype : {DType::BFloat16, DType::Float32, DType::Float64}) {
    check_against_plain({.scale = 2, .causal = true}, dtype);
    check_against_plain({.columns = 9}, dtype);
    check_against_plain({.rows = 9, .causal = true}, dtype);
    check_against_plain({.batch = 0, .rows = 2, .columns = 3}, dtype);
    check_against_plain({.rows = 0, .columns = 3, .bias_shape = {1, 1, 1, 3}}, dtype);
    check_against_plain({.rows = 2, .columns = 0}, dtype);
    check_against_plain({.rows = 2, .columns = 3, .width = 0}, dtype);
  }
}

TEST_CASE("attention has the same bits with any number of threads") {
  for (const bool causal : {false, true}) {
    // Fewer key heads than threads, and more.
    for (const int64_t keys : {1, 4}) {
      PlainAttention plain{.batch = 1,
                           .rows = 150,
                           .columns = 530,
                           .heads = 4,
                           .keys = keys,
                           .size = 16,
                           .width = 24,
                           .scale = 0.25,
                           .causal = causal,
                           .bias_shape = {1, 1, 150, 530}};
      for (const double dropout : {0.0, 0.3}) {
        plain.dropout = dropout;
        fill(plain);
        Run(plain, DType::Float32).check_threads();
        Run(plain, DType::BFloat16).check_threads();
      }
    }
  }
}

TEST_CASE("attention with dropout, of every dtype and instruction set") {
  for_each_instruction_set([] {
    for (const DType dtype : kFloating) {
      for (const bool causal : {false, true}) {
        check_against_plain({.batch = 2,
                             .rows = 5,
                             .columns = 37,
                             .heads = 4,
                             .keys = 2,
                             .size = 3,
                             .width = 6,
                             .scale = 0.5,
                             .causal = causal,
                             .bias_shape = {2, 4, 5, 37},
                             .mask_shape = {2, 1, 1, 37},
                             .dropout = 0.25},
                            dtype);
      }
    }
  });
}

TEST_CASE("attention with dropout over several blocks, with ends of blocks") {
  for (const Shape& bias : {Shape{}, Shape{1, 4, 1, 300}}) {
    for (const Shape& mask : {Shape{}, Shape{2, 1, 135, 300}, Shape{1, 1, 135, 1}}) {
      for (const bool causal : {false, true}) {
        for (const DType dtype : {DType::Float32, DType::BFloat16}) {
          CAPTURE(bias.to_string());
          CAPTURE(mask.to_string());
          CAPTURE(causal);
          check_against_plain({.batch = 2,
                               .rows = 135,
                               .columns = 300,
                               .heads = 4,
                               .keys = 2,
                               .size = 8,
                               .width = 5,
                               .scale = 0.35,
                               .causal = causal,
                               .bias_shape = bias,
                               .mask_shape = mask,
                               .dropout = 0.5},
                              dtype);
        }
      }
    }
  }
}

TEST_CASE("attention with dropout that keeps all, nothing, or should keep nothing") {
  PlainAttention plain{
      .rows = 3, .columns = 9, .heads = 2, .keys = 1, .size = 2, .width = 3, .dropout = 0.2};
  for (const double kept : {1.0, 0.0}) {
    plain.kept.assign(54, kept);
    for (const DType dtype : kFloating) check_against_plain(plain, dtype);
  }
  plain.dropout = 1;
  for (const DType dtype : kFloating) check_against_plain(plain, dtype);
  check_against_plain({.rows = 2, .columns = 0, .dropout = 0.5}, DType::Float32);
}

TEST_CASE("attention of rows that have no key, of infinities and of NaN") {
  // The mask hides all keys from the first row, which then averages all values.
  PlainAttention plain{.rows = 2,
                       .columns = 300,
                       .size = 2,
                       .width = 2,
                       .causal = true,
                       .mask_shape = {1, 1, 2, 300}};
  fill(plain);
  std::fill_n(plain.mask.begin(), 300, 0.0);
  plain.compute();
  const Run run(plain, DType::Float32);
  const std::vector<Tensor> forward = run.forward();
  check_close(forward[0], plain.y, 1e-5);
  const std::vector<Tensor> gradients = run.backward(forward);
  check_close(gradients[0], plain.dq, 1e-5);
  check_close(gradients[2], plain.dv, 1e-5);

  // A whole block of -infinity, then a finite score.
  const double infinity = std::numeric_limits<double>::infinity();
  PlainAttention late{.columns = 300, .size = 1, .width = 1, .bias_shape = {1, 1, 1, 300}};
  fill(late);
  std::fill_n(late.bias.begin(), 299, -infinity);
  check_close(Run(late, DType::Float32).forward()[0], {late.v[299]}, 1e-6);
  // Only -infinity, which is NaN as in softmax; then NaN among the scores.
  late.bias[299] = -infinity;
  CHECK(std::isnan(values_of(Run(late, DType::Float32).forward()[0])[0]));
  late.bias.assign(300, 0);
  late.bias[100] = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(values_of(Run(late, DType::Float32).forward()[0])[0]));
}

}  // namespace
}  // namespace cornu::cpu::testing
