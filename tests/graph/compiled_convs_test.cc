// SPDX-License-Identifier: Apache-2.0
// Convolutions that the CPU compiler rewrites.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/backends/cpu/passes/passes.h"

using namespace cornu;

namespace {

Graph read(const std::string& text) { return parse_graph(text); }

struct Case {
  Shape x;
  Shape filter;
  std::vector<int64_t> strides;
  std::vector<std::pair<int64_t, int64_t>> pad;  // for all axes; empty: none
  const char* padding = "valid";
};

// The convolution, and the gradients of a weighted sum of its outputs.
std::vector<Tensor> conv_and_gradients(const Case& c, const Tensor& x, const Tensor& filter) {
  GradientTape tape;
  tape.watch(x);
  tape.watch(filter);
  const Tensor padded = c.pad.empty() ? x : ops::pad(x, c.pad);
  const Tensor y = ops::conv(padded, filter, {.strides = c.strides, .padding = c.padding});
  const Tensor weights = ops::cos(ops::reshape(ops::arange(y.num_elements()), y.shape()));
  std::vector<Tensor> result = tape.gradient(y * ops::cast(weights, y.dtype()), {x, filter});
  result.push_back(y);
  return result;
}

void check_compiled(const Case& c, DType dtype) {
  CAPTURE(c.x.to_string());
  CAPTURE(c.filter.to_string());
  const Tensor x = ops::cast(random::normal(c.x, {.seed = 1}), dtype);
  const Tensor filter = ops::cast(random::normal(c.filter, {.seed = 2}), dtype);
  auto body = [&](const Tensor& a, const Tensor& b) { return conv_and_gradients(c, a, b); };
  const std::vector<Tensor> expected = body(x, filter);
  const auto got = function(body).call({x, filter});
  const double tolerance = dtype == DType::Float64 ? 1e-10 : dtype == DType::Float32 ? 1e-4 : 0.1;
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    REQUIRE(got[i].shape() == expected[i].shape());
    CHECK(got[i].dtype() == dtype);
    if (expected[i].num_elements() == 0) continue;
    const Tensor difference = ops::max(ops::abs(ops::cast(got[i] - expected[i], DType::Float64)));
    CHECK(difference.item<double>() <= tolerance);
  }
}

}  // namespace

TEST_CASE("a convolution of one position is a product") {
  const Graph graph = cpu::simplify_convs(
      read("graph(%0: float32[2,5,4,3], %1: float32[1,1,3,6]) {\n"
           "  %2 = conv(%0, %1) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1} : "
           "float32[2,5,4,6]\n"
           "  return %2\n"
           "}"));
  graph.validate();
  CHECK(graph.to_string() ==
        "graph(%0: float32[2,5,4,3], %1: float32[1,1,3,6]) {\n"
        "  %3 = reshape(%1) {shape=[3,6]} : float32[3,6]\n"
        "  %4 = matmul(%0, %3) {transpose_a=false, transpose_b=false} : float32[2,5,4,6]\n"
        "  return %4\n"
        "}");
}

TEST_CASE("a convolution of what was padded with zeros pads by itself") {
  const std::string pad =
      "  %4 = pad(%0, %3) {low=[0,0,0,0], high=[0,1,2,0], interior=[0,0,0,0]} : "
      "float32[2,6,6,3]\n";
  auto text = [&](const char* value) {
    return "graph(%0: float32[2,5,4,3], %1: float32[3,3,3,6]) {\n"
           "  %3 = constant() {value=<float32[] " +
           std::string(value) + ">} : float32[]\n" + pad +
           "  %5 = conv(%4, %1) {strides=[1,1], padding=[1,0,0,0], dilation=[1,1], groups=1} : "
           "float32[2,5,4,6]\n"
           "  return %5\n"
           "}";
  };
  const Graph graph = cpu::simplify_convs(read(text("0.0")));
  graph.validate();
  CHECK(graph.to_string() ==
        "graph(%0: float32[2,5,4,3], %1: float32[3,3,3,6]) {\n"
        "  %5 = conv(%0, %1) {dilation=[1,1], groups=1, padding=[1,1,0,2], strides=[1,1]} : "
        "float32[2,5,4,6]\n"
        "  return %5\n"
        "}");
  // A convolution of an input padded with another value is left as it is.
  CHECK(cpu::simplify_convs(read(text("1.0"))).nodes.size() == 3);
}

TEST_CASE("compiled convolutions and their gradients are those of the ops") {
  const std::vector<std::pair<int64_t, int64_t>> uneven = {{0, 0}, {0, 1}, {2, 1}, {0, 0}};
  const std::vector<std::pair<int64_t, int64_t>> channels = {{0, 0}, {1, 1}, {1, 1}, {0, 1}};
  for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
    check_compiled({{3, 5, 4, 3}, {1, 1, 3, 6}, {1, 1}, {}}, dtype);
    check_compiled({{2, 5, 7, 8}, {1, 1, 8, 16}, {2, 3}, {}}, dtype);
    check_compiled({{2, 5, 7, 8}, {1, 1, 8, 16}, {7, 9}, {}}, dtype);
    check_compiled({{2, 5, 7, 8}, {1, 1, 8, 16}, {1, 1}, uneven}, dtype);
    check_compiled({{2, 5, 7, 8}, {1, 1, 8, 16}, {2, 2}, uneven}, dtype);
    check_compiled({{2, 6, 6, 8}, {3, 3, 8, 16}, {2, 2}, uneven}, dtype);
    check_compiled({{2, 6, 6, 8}, {3, 3, 8, 16}, {1, 1}, uneven, "same"}, dtype);
    check_compiled({{2, 6, 6, 8}, {3, 3, 1, 8}, {2, 2}, uneven}, dtype);  // depthwise
    check_compiled({{2, 6, 6, 8}, {3, 3, 9, 8}, {2, 2}, channels}, dtype);
    check_compiled({{2, 9, 4}, {1, 4, 5}, {2}, {}}, dtype);
    check_compiled({{2, 3, 4, 5, 4}, {1, 1, 1, 4, 5}, {1, 2, 1}, {}}, dtype);
    check_compiled({{0, 5, 4, 3}, {1, 1, 3, 6}, {1, 1}, {}}, dtype);
    check_compiled({{0, 5, 4, 3}, {1, 1, 3, 6}, {2, 1}, {}}, dtype);
    check_compiled({{2, 5, 4, 3}, {1, 1, 3, 0}, {2, 1}, {}}, dtype);
  }
}
