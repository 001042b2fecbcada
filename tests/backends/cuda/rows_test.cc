// SPDX-License-Identifier: Apache-2.0
// Normalizations and other functions of rows: no more launches than needed, with the CPU's results.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "framework/backends/cuda/passes/passes.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/support/launches.h"

namespace cornu::cuda::testing {
namespace {

using Values = std::vector<Tensor>;
using Body = std::function<Values(const Values&)>;

Tensor numbers(const Shape& shape, const std::string& dtype, double seed = 0) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const double at = seed + static_cast<double>(i);
    values.push_back(static_cast<float>(std::sin(at * 0.731) * 2 + std::cos(at * at * 0.01)));
  }
  return ops::cast(Tensor::from(values, shape), dtype);
}

std::vector<std::string> check_on_gpu(const Body& body, const Values& inputs, double tolerance) {
  return check_program_like_cpu(
      [&] {
        const Function compiled([&](const Values& in) { return body(in); });
        return compiled.call(inputs);
      },
      tolerance);
}

int64_t fused_launches(const std::vector<std::string>& lines) {
  return test::count_lines(lines, "kernel fused_rows");
}

Tensor normalized(const Values& in, bool centers) {
  const std::string wide = in[0].dtype() == DType::Float64 ? "float64" : "float32";
  const Tensor x = ops::cast(in[0], wide);
  const Tensor y =
      centers ? ops::layer_normalization(x, {.gamma = in[1], .beta = in[2], .epsilon = 1e-3})
              : ops::rms_normalization(x, {.scale = in[1], .epsilon = 1e-3});
  return ops::cast(y, in[0].dtype());
}

// The normalization, and the gradients of all its operands; a matrix product separates the two, so
// that they are two kernels, as in models.
Body with_gradients(bool centers) {
  return [centers](const Values& in) {
    GradientTape tape;
    for (const Tensor& x : in) tape.watch(x);
    const Tensor y = normalized(in, centers);
    const Tensor loss = ops::sum(ops::square(ops::matmul(y, in[3])));
    Values wanted = {in[0], in[1]};
    if (centers) wanted.push_back(in[2]);
    Values results = tape.gradient(Tensors(loss), wanted);
    results.push_back(y);
    return results;
  };
}

Values operands(const Shape& shape, const std::string& dtype) {
  const int64_t n = shape[shape.rank() - 1];
  const std::string wide = dtype == "float64" ? "float64" : "float32";
  const Tensor weight = numbers({n, 3}, dtype, 7) * 0.1;
  return {numbers(shape, dtype), numbers({n}, wide, 3), numbers({n}, wide, 5), weight};
}

void check_normalizations(const Shape& shape, const std::string& dtype, double tolerance) {
  CAPTURE(shape.to_string());
  CAPTURE(dtype);
  for (const bool centers : {true, false}) {
    CAPTURE(centers);
    const auto lines = check_on_gpu(with_gradients(centers), operands(shape, dtype), tolerance);
    CHECK(fused_launches(lines) == 2);  // forward and backward
    CHECK(test::count_lines(lines, "kernel sum_") == 0);
  }
}

}  // namespace

TEST_CASE("normalizations of rows and their gradients, float32") {
  check_normalizations({5, 2}, "float32", 1e-4);
  check_normalizations({2, 3, 7}, "float32", 1e-4);
  check_normalizations({3, 4, 32}, "float32", 1e-4);
  check_normalizations({2, 2, 3, 100}, "float32", 1e-4);
  check_normalizations({9, 512}, "float32", 2e-4);
  check_normalizations({2, 1023}, "float32", 2e-4);  // one element per thread
  check_normalizations({3, 3, 1024}, "float32", 2e-4);
  check_normalizations({3, 1030}, "float32", 2e-4);
  check_normalizations({2, 2, 3000}, "float32", 2e-4);
}

TEST_CASE("normalizations of rows and their gradients, bfloat16 and float64") {
  check_normalizations({2, 3, 7}, "bfloat16", 0.03);
  check_normalizations({3, 4, 512}, "bfloat16", 0.03);
  check_normalizations({2, 3, 768}, "bfloat16", 0.03);
  check_normalizations({2, 3000}, "bfloat16", 0.03);
  check_normalizations({2, 3, 7}, "float64", 1e-10);
  check_normalizations({1, 5, 100}, "float64", 1e-10);
  check_normalizations({3, 1030}, "float64", 1e-10);
}

TEST_CASE("many rows, and one") {
  const Body forward = [](const Values& in) { return Values{normalized(in, true)}; };
  for (const Shape& shape : {Shape{1500, 32}, Shape{1, 100}, Shape{1, 1, 3000}, Shape{3, 12000}}) {
    CAPTURE(shape.to_string());
    const auto lines = check_on_gpu(forward, operands(shape, "float32"), 1e-4);
    CHECK(fused_launches(lines) == 1);
    CHECK(lines.size() == 1);
  }
}

TEST_CASE("what is added before, activations after, and values that others read") {
  const auto lines = check_on_gpu(
      [](const Values& in) {
        const Tensor sum = in[0] + in[4];
        const Tensor y = normalized({sum, in[1], in[2]}, true);
        const Tensor mean = ops::mean(sum, {-1}, true);
        return Values{ops::gelu(y) * 2.0f, sum, ops::matmul(y, in[3]), mean};
      },
      [] {
        Values in = operands({3, 5, 32}, "float32");
        in.push_back(numbers({3, 5, 32}, "float32", 11));
        return in;
      }(),
      1e-4);
  CHECK(fused_launches(lines) == 1);
  CHECK(lines.size() == 2);  // including the product
}

TEST_CASE("normalizations of normalizations") {
  const Body twice = [](const Values& in) {
    const Tensor y = normalized(in, true);
    return Values{normalized({ops::relu(y) + in[0], in[2], in[1]}, false), y};
  };
  CHECK(fused_launches(check_on_gpu(twice, operands({6, 100}, "float32"), 1e-4)) == 1);
  // Separated by something that can't be fused.
  const Body apart = [](const Values& in) {
    const Tensor y = ops::matmul(normalized(in, true), in[3]);
    return Values{normalized({y, in[4], in[4]}, true)};
  };
  Values in = operands({6, 100}, "float32");
  in.push_back(numbers({3}, "float32", 1));
  CHECK(fused_launches(check_on_gpu(apart, in, 1e-3)) == 2);
}

TEST_CASE("compositions like softmax, and extremes of rows") {
  const Body softmax = [](const Values& in) {
    const Tensor power = ops::exp(in[0] - ops::max(in[0], {-1}, true));
    return Values{power / ops::sum(power, {-1}, true)};
  };
  const Body ranges = [](const Values& in) {
    const Tensor least = ops::min(in[0], {-1}, true);
    const Tensor largest = ops::max(in[0], {-1});
    return Values{(in[0] - least) / (ops::expand_dims(largest, -1) - least), largest};
  };
  for (const Shape& shape : {Shape{4, 7}, Shape{8, 8}, Shape{2, 3, 1200}}) {
    CAPTURE(shape.to_string());
    for (const Body& body : {softmax, ranges}) {
      CHECK(fused_launches(check_on_gpu(body, {numbers(shape, "float32")}, 1e-5)) == 1);
    }
  }
}

TEST_CASE("NaN stays in its row") {
  Tensor x = numbers({3, 8}, "float32");
  const Body body = [](const Values& in) {
    const Tensor bad = in[0] / ops::cast(ops::not_equal(in[0], in[0][1][2]), "float32") * 0.0f;
    const Tensor y = in[0] + bad;
    const Tensor scaled = y / ops::max(y, {-1}, true);
    return Values{ops::cast(ops::isnan(scaled), "int32")};
  };
  CHECK(fused_launches(check_on_gpu(body, {x}, 0)) == 1);
}

TEST_CASE("masks that broadcast otherwise are applied outside") {
  const Body masked = [](const Values& in) {
    const Tensor x = in[0] * in[1];  // a mask for the middle axis, and one for the first two
    const Tensor y = x / ops::sum(ops::exp(x), {-1}, true);
    return Values{y * in[2], ops::sum(y, {-1})};
  };
  const auto lines = check_on_gpu(masked,
                                  {numbers({2, 3, 8}, "float32"), numbers({3, 1}, "float32", 1),
                                   numbers({2, 1, 8}, "float32", 2)},
                                  1e-5);
  CHECK(fused_launches(lines) == 1);
  CHECK(lines.size() > 1);
}

TEST_CASE("rows that are also columns aren't taken for each other") {
  const Body body = [](const Values& in) {
    const Tensor sums = ops::sum(ops::exp(in[0]), {-1});  // one for each row
    return Values{in[0] / sums, in[0] * ops::reshape(sums, {4, 1}), sums * in[1]};
  };
  check_on_gpu(body, {numbers({4, 4}, "float32"), numbers({4}, "float32", 2)}, 1e-5);
  const Body cube = [](const Values& in) {
    const Tensor sums = ops::sum(ops::exp(in[0]), {-1});
    return Values{in[0] / sums, in[0] * ops::expand_dims(sums, -1)};
  };
  check_on_gpu(cube, {numbers({2, 2, 2}, "float32")}, 1e-5);
}

TEST_CASE("a variable is normalized in its place") {
  const auto lines = check_program_like_cpu(
      [] {
        Variable rows(numbers({6, 100}, "float32"), {.name = "rows"});
        const Function step = function(
            [&](const Tensor& x) { rows.assign(ops::rms_normalization(Tensor(rows) + x) * 2.0f); });
        for (int k = 0; k < 3; ++k) step(numbers({6, 100}, "float32", k));
        return Values{Tensor(rows)};
      },
      1e-4);
  CHECK(fused_launches(lines) == 1);
}

TEST_CASE("results may lie over operands, and the same numbers give the same bits") {
  for (const std::string dtype : {"float32", "float64"}) {
    for (const int64_t n : {7, 100, 1030, 12000}) {
      CAPTURE(dtype);
      CAPTURE(n);
      const std::string full = fmt::format("{}[3,{}]", dtype, n);
      const Graph graph = fuse_rows(
          parse_graph(fmt::format("graph(%0: {0}, %1: {0}, %2: {1}[3,1]) {{\n"
                                  "  %3 = multiply(%0, %1) : {0}\n"
                                  "  %4 = reduce_sum(%3) {{axes=[1], keepdims=true}} : {1}[3,1]\n"
                                  "  %5 = subtract(%0, %4) : {0}\n"
                                  "  %6 = reduce_max(%5) {{axes=[1], keepdims=true}} : {1}[3,1]\n"
                                  "  %7 = add(%6, %2) : {1}[3,1]\n"
                                  "  %8 = divide(%1, %7) : {0}\n"
                                  "  return %5, %8, %7\n"
                                  "}}",
                                  full, dtype)));
      REQUIRE(graph.nodes.size() == 1);
      const Node& node = graph.nodes[0];
      std::vector<TensorType> types;
      for (const ValueId id : node.outputs) types.push_back(graph.type(id));
      run_lowered("fused_rows",
                  {numbers({3, n}, dtype), numbers({3, n}, dtype, 1), numbers({3, 1}, dtype, 2)},
                  node.attributes, types);
    }
  }
}

}  // namespace cornu::cuda::testing
