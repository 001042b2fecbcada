// SPDX-License-Identifier: Apache-2.0
// Attention on the simulated GPU, compared with the CPU's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/backends/cuda/attention_case.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;

void check_attention_forward(const AttentionCase& one) {
  std::vector<Tensor> inputs = one.operands();
  one.add_optional(inputs);
  check_like_cpu("attention", inputs, one.attributes(), one.tolerance());
}

std::vector<Tensor> run_attention(const AttentionCase& one) {
  std::vector<Tensor> inputs = one.operands();
  one.add_optional(inputs);
  return run_lowered("attention", inputs, one.attributes(),
                     {{one.dtype, one.output_shape()}, one.statistics()});
}

void check_attention(const AttentionCase& one) {
  CAPTURE(cpu::testing::text(one.output_shape()));
  CAPTURE(one.columns);
  CAPTURE(cpu::testing::text(one.dtype));
  std::vector<Tensor> inputs = one.operands();
  {
    const WithoutLibraries alone;  // libraries return other statistics
    check_attention_forward(one);
    for (const Tensor& result : run_attention(one)) inputs.push_back(result);
  }
  inputs.push_back(random_tensor(one.output_shape(), one.dtype, 6));
  one.add_optional(inputs);
  Attributes attributes = one.attributes();
  attributes.set("bias_gradient", one.bias_gradient && one.bias_shape.rank() == 4);
  check_like_cpu("attention_grad", inputs, attributes, 10 * one.tolerance());
}

// Compares a library's output with the kernels', and the gradients that each computes from the
// library's output.
void check_library_like_kernels(const AttentionCase& one) {
  const std::vector<Tensor> results = run_attention(one);
  std::vector<Tensor> inputs = one.operands();
  inputs.insert(inputs.end(), results.begin(), results.end());
  inputs.push_back(random_tensor(one.output_shape(), one.dtype, 6));
  one.add_optional(inputs);
  Attributes attributes = one.attributes();
  attributes.set("bias_gradient", false);
  const auto gradients = [&] {
    return run_lowered("attention_grad", inputs, attributes,
                       {type_of(inputs[0]), type_of(inputs[1]), type_of(inputs[2])});
  };
  const std::vector<Tensor> found = gradients();
  const WithoutLibraries alone;
  CHECK(distance(results[0], run_attention(one)[0]) < one.tolerance());
  const std::vector<Tensor> own = gradients();
  for (size_t i = 0; i < own.size(); ++i) {
    CHECK(distance(found[i], own[i]) < 10 * one.tolerance());
  }
}

TEST_CASE("attention: sizes around those of tiles, and its gradient") {
  check_attention({});
  check_attention(
      {.batch = 2, .rows = 3, .columns = 5, .heads = 2, .keys = 2, .size = 4, .width = 4});
  check_attention({.rows = 65, .columns = 63, .heads = 2, .keys = 1, .size = 17, .width = 20});
  check_attention({.rows = 64, .columns = 130, .heads = 1, .keys = 1, .size = 64, .width = 33});
}

TEST_CASE("attention: so many blocks that they have more rows") {
  AttentionCase one{.rows = 65, .columns = 66, .heads = 25, .keys = 25, .size = 5, .width = 6};
  one.causal = true;
  check_attention(one);
  one.mask_shape = {1, 25, 65, 66};
  one.dtype = DType::Float64;
  check_attention(one);
}

TEST_CASE("attention: large heads, and such that take several parts of their columns") {
  check_attention({.rows = 3, .columns = 70, .size = 128, .width = 100});
  check_attention({.rows = 3, .columns = 4, .size = 260, .width = 300});
  check_attention({.rows = 5, .columns = 34, .size = 130, .width = 7, .dtype = DType::Float64});
}

TEST_CASE("attention: causal, with more queries than keys and with fewer") {
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    check_attention({.rows = 70,
                     .columns = 70,
                     .heads = 2,
                     .keys = 1,
                     .size = 8,
                     .width = 8,
                     .causal = true,
                     .dtype = dtype});
    check_attention(
        {.rows = 3, .columns = 80, .size = 5, .width = 5, .causal = true, .dtype = dtype});
    check_attention(
        {.rows = 90, .columns = 3, .size = 5, .width = 5, .causal = true, .dtype = dtype});
  }
}

TEST_CASE("attention: masks that hide whole rows, and biases of every form") {
  AttentionCase one{.batch = 2,
                    .rows = 6,
                    .columns = 67,
                    .heads = 4,
                    .keys = 2,
                    .size = 8,
                    .width = 8,
                    .mask_shape = {2, 1, 1, 67}};
  check_attention(one);
  one.mask_shape = {2, 4, 6, 1};
  check_attention(one);
  one.causal = true;
  check_attention(one);
  one.mask_shape = {};
  for (const Shape& bias : {Shape{2, 4, 6, 67}, Shape{1, 4, 1, 67}, Shape{2, 1, 6, 1},
                            Shape{1, 1, 1, 1}, Shape{1, 1, 6, 67}}) {
    one.bias_shape = bias;
    one.causal = !one.causal;
    check_attention(one);
  }
  one.mask_shape = {1, 1, 6, 67};
  check_attention(one);
}

TEST_CASE("attention: 16-bit floats") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    AttentionCase one{.batch = 2,
                      .rows = 33,
                      .columns = 66,
                      .heads = 2,
                      .keys = 2,
                      .size = 16,
                      .width = 16,
                      .causal = true,
                      .dtype = dtype};
    check_attention(one);
    check_library_like_kernels(one);
    one.bias_shape = {1, 2, 33, 66};
    check_attention(one);
  }
}

TEST_CASE("attention: masks and biases of 16-bit floats, which the library adds to scores") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    AttentionCase one{.batch = 2,
                      .rows = 9,
                      .columns = 13,
                      .heads = 4,
                      .keys = 2,
                      .size = 8,
                      .width = 8,
                      .dtype = dtype,
                      .bias_gradient = false};
    // Some masks hide whole rows, of all heads or of one.
    const Shape masks[] = {{}, {2, 1, 1, 13}, {2, 1, 9, 1}, {1, 4, 9, 1}, {2, 4, 9, 13}};
    const Shape biases[] = {{}, {1, 4, 9, 13}, {2, 1, 9, 1}, {1, 1, 1, 13}};
    for (const Shape& mask : masks) {
      for (const Shape& bias : biases) {
        one.mask_shape = mask;
        one.bias_shape = bias;
        one.causal = !one.causal;
        CAPTURE(cpu::testing::text(mask));
        CAPTURE(cpu::testing::text(bias));
        CAPTURE(one.causal);
        check_attention(one);
        check_library_like_kernels(one);
      }
    }
  }
}

TEST_CASE("attention: queries of 16-bit floats from which a mask of keys hides all average all") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const AttentionCase one{.batch = 2,
                            .rows = 5,
                            .columns = 6,
                            .heads = 2,
                            .keys = 2,
                            .size = 8,
                            .width = 8,
                            .causal = causal,
                            .mask_shape = {2, 1, 1, 6},
                            .dtype = DType::BFloat16};
    std::vector<Tensor> inputs = one.operands();
    // Hides all keys of the first batch entry and, in the second, those that its first queries see
    // causally.
    inputs.push_back(
        cpu::testing::tensor_of({0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1}, one.mask_shape, DType::Bool));
    const std::vector<TensorType> types = {{one.dtype, one.output_shape()}, one.statistics()};
    const std::vector<Tensor> found = run_lowered("attention", inputs, one.attributes(), types);
    const std::vector<Tensor> expected = cpu_backend().execute(
        OpRegistry::global().at("attention"), inputs, one.attributes(), types, Device{});
    CHECK(distance(found[0], expected[0]) < one.tolerance());
  }
}

TEST_CASE("attention of nothing") {
  check_attention({.batch = 0, .rows = 2, .columns = 3});
  check_attention({.rows = 2, .columns = 0, .size = 3, .width = 3});
  check_attention({.rows = 2, .columns = 3, .width = 0});
  check_attention({.rows = 0, .columns = 3});
}

TEST_CASE("attention: scores of -infinity, in one tile and in all") {
  const double lowest = -std::numeric_limits<double>::infinity();
  std::vector<double> bias(2 * 70, lowest);
  bias[69] = 0.5;  // the first row's last score; the second row has no finite one
  const AttentionCase one{
      .rows = 2, .columns = 70, .size = 3, .width = 3, .bias_shape = {1, 1, 2, 70}};
  std::vector<Tensor> inputs = one.operands();
  inputs.push_back(cpu::testing::tensor_of(bias, one.bias_shape, one.dtype));
  check_like_cpu("attention", inputs, one.attributes(), one.tolerance());
}

}  // namespace
}  // namespace cornu::cuda::testing
