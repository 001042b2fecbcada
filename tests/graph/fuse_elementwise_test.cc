// SPDX-License-Identifier: Apache-2.0
// Fusion of elementwise nodes and of the sums over them.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/passes/elementwise_groups.h"
#include "framework/graph/passes/pass.h"

using namespace cornu;

namespace {

Graph fused(const std::string& text) {
  Graph graph = passes::fuse_elementwise(parse_graph(text));
  graph.validate();
  return graph;
}

// The op names in the body of a "fused" node, in order.
std::vector<std::string> body_of(const Node& node) {
  std::vector<std::string> names;
  REQUIRE(node.is("fused"));
  for (const Node& inner : node.attributes.get_graph("body").nodes) {
    names.push_back(std::string(inner.op->name));
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("sums over columns have all axes but the last") {
  using passes::summed_columns;
  CHECK(summed_columns({4, 5, 6}, {0, 1}) == 6);
  CHECK(summed_columns({4, 5, 6}, {0, 1, 2}) == 1);
  CHECK(summed_columns({4, 1, 6}, {0}) == 6);
  CHECK(summed_columns({4, 6, 1}, {0}) == 6);
  CHECK(summed_columns({4, 1}, {0}) == 1);
  CHECK(!summed_columns({4, 5, 6}, {0}));
  CHECK(!summed_columns({4, 5, 6}, {2}));
  CHECK(!summed_columns({4, 5, 6}, {0, 2}));
  CHECK(!summed_columns({1, 6}, {0}));
  CHECK(!summed_columns({0, 6}, {0}));
  CHECK(!summed_columns({}, {}));
}

TEST_CASE("a sum joins what makes its values, which then aren't kept") {
  const Graph graph = fused(
      "graph(%0: float32[8,4], %1: float32[4]) {\n"
      "  %2 = subtract(%0, %1) : float32[8,4]\n"
      "  %3 = square(%2) : float32[8,4]\n"
      "  %4 = reduce_sum(%3) {axes=[0], keepdims=false} : float32[4]\n"
      "  return %4\n"
      "}");
  REQUIRE(graph.nodes.size() == 1);
  CHECK(body_of(graph.nodes[0]) == Names{"subtract", "square", "reduce_sum"});
  CHECK(graph.nodes[0].outputs.size() == 1);
}

TEST_CASE("what reads a sum doesn't join the nodes that make it") {
  const Graph graph = fused(
      "graph(%0: float32[8,4]) {\n"
      "  %1 = exp(%0) : float32[8,4]\n"
      "  %2 = reduce_sum(%1) {axes=[0], keepdims=true} : float32[1,4]\n"
      "  %3 = divide(%1, %2) : float32[8,4]\n"
      "  %4 = log(%3) : float32[8,4]\n"
      "  return %4\n"
      "}");
  REQUIRE(graph.nodes.size() == 2);
  CHECK(body_of(graph.nodes[0]) == Names{"exp", "reduce_sum"});
  CHECK(body_of(graph.nodes[1]) == Names{"divide", "log"});
  CHECK(graph.nodes[0].outputs.size() == 2);  // recomputing exp costs more than reading it back
}

TEST_CASE("sums over other axes, of other dtypes, or of very many columns stay alone") {
  auto sum_of = [](const std::string& type, const std::string& axes, const std::string& to) {
    const Graph graph = fused("graph(%0: " + type + ") {\n  %1 = abs(%0) : " + type +
                              "\n  %2 = reduce_sum(%1) {axes=" + axes +
                              ", keepdims=false} : " + to + "\n  return %2\n}");
    return graph.nodes.size();
  };
  CHECK(sum_of("float32[8,4]", "[0]", "float32[4]") == 1);
  CHECK(sum_of("float32[8,4]", "[0,1]", "float32[]") == 1);
  CHECK(sum_of("float32[8,4]", "[1]", "float32[8]") == 2);
  CHECK(sum_of("bfloat16[8,4]", "[0]", "bfloat16[4]") == 2);
  CHECK(sum_of("int32[8,4]", "[0]", "int32[4]") == 2);
  CHECK(sum_of("float32[8,9000]", "[0]", "float32[9000]") == 2);
}

TEST_CASE("what is cheap is computed again instead of kept") {
  // relu(x * f) is only used by a matmul; the mask of its gradient is recomputed from x, which is
  // available.
  const Graph graph = fused(
      "graph(%0: float32[8,4], %1: float32[4], %2: float32[4,4], %3: float32[8,4]) {\n"
      "  %4 = multiply(%0, %1) : float32[8,4]\n"
      "  %5 = relu(%4) : float32[8,4]\n"
      "  %6 = matmul(%5, %2) {transpose_a=false, transpose_b=false} : float32[8,4]\n"
      "  %7 = constant() {value=<float32[] 0.0>} : float32[]\n"
      "  %8 = matmul(%6, %2) {transpose_a=false, transpose_b=false} : float32[8,4]\n"
      "  %9 = greater(%4, %7) : bool[8,4]\n"
      "  %10 = select(%9, %8, %7) : float32[8,4]\n"
      "  %11 = multiply(%10, %0) : float32[8,4]\n"
      "  return %11\n"
      "}");
  REQUIRE(graph.nodes.size() == 4);
  CHECK(body_of(graph.nodes[0]) == Names{"multiply", "relu"});
  CHECK(graph.nodes[0].outputs.size() == 1);
  CHECK(body_of(graph.nodes[3]) == Names{"multiply", "constant", "greater", "select", "multiply"});
  CHECK(graph.nodes[3].inputs.size() == 3);
}

TEST_CASE("what is kept anyway is read where computing it would read more") {
  const Graph graph = fused(
      "graph(%0: float32[8,4], %1: float32[8,4], %2: float32[4,4], %3: float32[8,4]) {\n"
      "  %4 = add(%0, %1) : float32[8,4]\n"
      "  %5 = relu(%4) : float32[8,4]\n"
      "  %6 = matmul(%5, %2) {transpose_a=false, transpose_b=false} : float32[8,4]\n"
      "  %7 = multiply(%6, %5) : float32[8,4]\n"
      "  %8 = multiply(%7, %3) : float32[8,4]\n"
      "  return %8\n"
      "}");
  REQUIRE(graph.nodes.size() == 3);
  CHECK(body_of(graph.nodes[0]) == Names{"add", "relu"});
  CHECK(body_of(graph.nodes[2]) == Names{"multiply", "multiply"});
}

TEST_CASE("a group that others compute entirely is gone") {
  const Graph graph = fused(
      "graph(%0: float32[8,4], %1: float32[4], %2: float32[4,4]) {\n"
      "  %3 = subtract(%0, %1) : float32[8,4]\n"
      "  %4 = reduce_sum(%3) {axes=[1], keepdims=true} : float32[8,1]\n"
      "  %5 = square(%3) : float32[8,4]\n"
      "  %6 = reduce_sum(%5) {axes=[0], keepdims=true} : float32[1,4]\n"
      "  %7 = multiply(%3, %6) : float32[8,4]\n"
      "  %8 = multiply(%7, %4) : float32[8,4]\n"
      "  return %8\n"
      "}");
  // The sum over rows reads the difference from memory, so it is kept; without that sum, nothing
  // reads it.
  CHECK(graph.nodes.size() == 3);
  const Graph without = fused(
      "graph(%0: float32[8,4], %1: float32[4]) {\n"
      "  %3 = subtract(%0, %1) : float32[8,4]\n"
      "  %5 = square(%3) : float32[8,4]\n"
      "  %6 = reduce_sum(%5) {axes=[0], keepdims=true} : float32[1,4]\n"
      "  %7 = multiply(%3, %6) : float32[8,4]\n"
      "  return %7\n"
      "}");
  REQUIRE(without.nodes.size() == 2);
  CHECK(without.nodes[0].outputs.size() == 1);
  CHECK(body_of(without.nodes[1]) == Names{"subtract", "multiply"});
}

namespace {

struct Normalized {
  Shape x;
  bool residual;
  double limit;  // of the activation; 0: no activation
};

// A normalized matmul with its activation, and the gradients of everything.
std::vector<Tensor> normalized(const Normalized& c, const std::vector<Tensor>& in) {
  GradientTape tape;
  for (const Tensor& tensor : in) tape.watch(tensor);
  const Tensor product = ops::matmul(in[0], in[1]);
  std::vector<int64_t> axes(static_cast<size_t>(product.rank()) - 1);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  const auto [mean, variance] = ops::moments(product, axes);
  Tensor y = ops::batch_normalization(product, mean, variance, -1,
                                      {.offset = in[2], .scale = in[3], .epsilon = 1e-3});
  if (c.residual) y = y + in[0];
  y = ops::relu(y);
  if (c.limit > 0) y = ops::minimum(y, c.limit);
  const Tensor z = ops::matmul(y, in[1]);
  std::vector<Tensor> result = tape.gradient(ops::square(z) + y, in);
  result.push_back(z);
  result.push_back(mean);
  return result;
}

}  // namespace

TEST_CASE("normalization, its activation and their gradients are those of the ops") {
  for (const Normalized& c : std::vector<Normalized>{{{9, 7}, false, 0},
                                                     {{33, 4, 5, 16}, false, 1.5},
                                                     {{3, 2, 2, 600}, true, 0},
                                                     {{65, 24}, true, 0.7},
                                                     {{2, 1}, false, 0.5}}) {
    CAPTURE(c.x.to_string());
    const int64_t n = c.x.back();
    auto draw = [](const Shape& shape, int seed) {
      return ops::cast(random::normal(shape, {.seed = seed}), DType::Float64);
    };
    const std::vector<Tensor> in = {draw(c.x, 1), draw({n, n}, 2), draw({n}, 3), draw({n}, 4)};
    auto body = [&](const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& s) {
      return normalized(c, {x, w, b, s});
    };
    const auto fast = function(body).call(in);
    const auto plain = function(body, {.optimize = false}).call(in);
    for (size_t i = 0; i < fast.size(); ++i) {
      CAPTURE(i);
      const double size = ops::max(ops::abs(plain[i])).item<double>();
      CHECK(ops::max(ops::abs(fast[i] - plain[i])).item<double>() <= 1e-11 * (1 + size));
    }
  }
}
