// SPDX-License-Identifier: Apache-2.0
// Which nodes are fused into one over an array's rows, and which values the others still read.
#include <doctest/doctest.h>

#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {
namespace {

using Names = std::vector<std::string>;

Graph rows_fused(const std::string& text) {
  Graph graph = fuse_rows(parse_graph(text));
  graph.validate();
  return graph;
}

Names names_of(const Graph& graph) {
  Names names;
  for (const Node& node : graph.nodes) names.push_back(node.op->name);
  return names;
}

Names body_names(const Node& node) { return names_of(node.attributes.get_graph("body")); }

}  // namespace

TEST_CASE("a normalization is one node") {
  const Graph graph = rows_fused(
      "graph(%0: float32[4,8], %1: float32[8]) {\n"
      "  %2 = square(%0) : float32[4,8]\n"
      "  %3 = reduce_sum(%2) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %4 = rsqrt(%3) : float32[4,1]\n"
      "  %5 = multiply(%0, %4) : float32[4,8]\n"
      "  %6 = multiply(%5, %1) : float32[4,8]\n"
      "  return %6\n"
      "}");
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].is("fused_rows"));
  CHECK(graph.nodes[0].inputs == std::vector<ValueId>{0, 1});
  CHECK(graph.nodes[0].outputs == std::vector<ValueId>{6});
  CHECK(body_names(graph.nodes[0]) ==
        Names{"square", "reduce_sum", "rsqrt", "multiply", "multiply"});
}

TEST_CASE("one reduction of what is made for it alone stays as it is") {
  const Graph graph = rows_fused(
      "graph(%0: float32[4,8]) {\n"
      "  %1 = square(%0) : float32[4,8]\n"
      "  %2 = reduce_sum(%1) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %3 = rsqrt(%2) : float32[4,1]\n"
      "  return %3\n"
      "}");
  CHECK(names_of(graph) == Names{"square", "reduce_sum", "rsqrt"});
}

TEST_CASE("two reductions of the same rows are one node") {
  const Graph graph = rows_fused(
      "graph(%0: float32[2,4,8]) {\n"
      "  %1 = square(%0) : float32[2,4,8]\n"
      "  %2 = reduce_sum(%1) {axes=[2], keepdims=false} : float32[2,4]\n"
      "  %3 = reduce_max(%1) {axes=[2], keepdims=false} : float32[2,4]\n"
      "  return %2, %3\n"
      "}");
  CHECK(names_of(graph) == Names{"fused_rows"});
}

TEST_CASE("other axes, dtypes, vectors and long rows stay as they are") {
  auto unfused = [](const std::string& from, const std::string& axes, const std::string& to) {
    const Graph graph = rows_fused(
        "graph(%0: " + from + ") {\n  %1 = reduce_sum(%0) {axes=" + axes +
        ", keepdims=true} : " + to + "\n  %2 = multiply(%0, %1) : " + from + "\n  return %2\n}");
    return names_of(graph) == Names{"reduce_sum", "multiply"};
  };
  CHECK(unfused("float32[4,8]", "[0]", "float32[1,8]"));
  CHECK(unfused("float32[2,4,8]", "[1,2]", "float32[2,1,1]"));
  CHECK(unfused("int32[4,8]", "[1]", "int32[4,1]"));
  CHECK(unfused("bfloat16[4,8]", "[1]", "bfloat16[4,1]"));
  CHECK(unfused("float32[8]", "[0]", "float32[1]"));
  CHECK(unfused("float32[4,1]", "[1]", "float32[4,1]"));
  CHECK(unfused("float32[4,16385]", "[1]", "float32[4,1]"));
  CHECK(!unfused("float32[4,16384]", "[1]", "float32[4,1]"));
  CHECK(!unfused("float64[4,2]", "[1]", "float64[4,1]"));
}

TEST_CASE("readers compute again what is cheap, and takes no more bytes than to read it") {
  const Graph graph = rows_fused(
      "graph(%0: bfloat16[4,8], %1: float32[4,8], %2: float32[8,8]) {\n"
      "  %3 = cast(%0) {dtype=float32} : float32[4,8]\n"
      "  %4 = reduce_sum(%3) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %5 = subtract(%3, %4) : float32[4,8]\n"
      "  %6 = matmul(%5, %2) {transpose_a=false, transpose_b=false} : float32[4,8]\n"
      "  %7 = multiply(%6, %5) : float32[4,8]\n"
      "  %8 = add(%7, %3) : float32[4,8]\n"
      "  return %8\n"
      "}");
  // The product reads %5, which is therefore stored in memory; %3 isn't.
  REQUIRE(names_of(graph) == Names{"cast", "fused_rows", "matmul", "multiply", "add"});
  CHECK(graph.nodes[1].inputs == std::vector<ValueId>{0});
  CHECK(graph.nodes[1].outputs == std::vector<ValueId>{5});
}

TEST_CASE("sums of arrays are stored for those that come later") {
  const Graph graph = rows_fused(
      "graph(%0: float32[4,8], %1: float32[4,8], %2: float32[8,8]) {\n"
      "  %3 = add(%0, %1) : float32[4,8]\n"
      "  %4 = reduce_sum(%3) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %5 = divide(%3, %4) : float32[4,8]\n"
      "  %6 = matmul(%5, %2) {transpose_a=false, transpose_b=false} : float32[4,8]\n"
      "  %7 = add(%6, %3) : float32[4,8]\n"
      "  return %7\n"
      "}");
  REQUIRE(names_of(graph) == Names{"fused_rows", "matmul", "add"});
  CHECK(graph.nodes[0].outputs == std::vector<ValueId>{3, 5});
}

TEST_CASE("what is computed again of rows reads these rows' values") {
  const Graph graph = rows_fused(
      "graph(%0: float32[4,8], %1: float32[8,8]) {\n"
      "  %2 = reduce_sum(%0) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %3 = subtract(%0, %2) : float32[4,8]\n"
      "  %4 = exp(%3) : float32[4,8]\n"
      "  %5 = matmul(%4, %1) {transpose_a=false, transpose_b=false} : float32[4,8]\n"
      "  %6 = multiply(%5, %3) : float32[4,8]\n"
      "  %7 = reduce_sum(%6) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %8 = divide(%6, %7) : float32[4,8]\n"
      "  return %8\n"
      "}");
  REQUIRE(names_of(graph) == Names{"fused_rows", "matmul", "fused_rows"});
  CHECK(graph.nodes[0].outputs == std::vector<ValueId>{2, 4});
  CHECK(graph.nodes[2].inputs == std::vector<ValueId>{0, 2, 5});
  CHECK(body_names(graph.nodes[2]) == Names{"subtract", "multiply", "reduce_sum", "divide"});
}

TEST_CASE("sums over columns compute what they sum up") {
  const Graph graph = rows_fused(
      "graph(%0: float32[4,8], %1: float32[4,8]) {\n"
      "  %2 = reduce_sum(%0) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %3 = subtract(%0, %2) : float32[4,8]\n"
      "  %4 = multiply(%1, %3) : float32[4,8]\n"
      "  %5 = reduce_sum(%4) {axes=[0], keepdims=false} : float32[8]\n"
      "  %6 = exp(%3) : float32[4,8]\n"
      "  return %5, %6\n"
      "}");
  CHECK(names_of(graph) == Names{"fused_rows", "subtract", "multiply", "reduce_sum"});
}

TEST_CASE("paths don't come back, and collectives stay in order") {
  const Graph graph = rows_fused(
      "graph(%0: float32[4,8], %1: float32[4,8]) {\n"
      "  %2 = reduce_sum(%0) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %3 = all_reduce(%2) {reduce=\"sum\"} : float32[4,1]\n"
      "  %4 = divide(%0, %3) : float32[4,8]\n"
      "  %5 = reduce_sum(%4) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %6 = all_reduce(%5) {reduce=\"sum\"} : float32[4,1]\n"
      "  %7 = multiply(%4, %6) : float32[4,8]\n"
      "  return %7\n"
      "}");
  CHECK(names_of(graph) ==
        Names{"reduce_sum", "all_reduce", "fused_rows", "all_reduce", "multiply"});
  CHECK(passes::collective_order(graph).size() == 2);
}

TEST_CASE("groups have at most 24 inputs") {
  std::string text = "graph(%0: float32[4,8]";
  for (int k = 1; k <= 30; ++k) text += fmt::format(", %{}: float32[4,8]", k);
  text += ") {\n";
  for (int k = 1; k <= 30; ++k) {
    text += fmt::format("  %{} = add(%{}, %{}) : float32[4,8]\n", 30 + k, k == 1 ? 0 : 29 + k, k);
  }
  text +=
      "  %61 = reduce_sum(%60) {axes=[1], keepdims=true} : float32[4,1]\n"
      "  %62 = divide(%60, %61) : float32[4,8]\n"
      "  return %62\n"
      "}";
  const Graph graph = rows_fused(text);
  REQUIRE(graph.nodes.back().is("fused_rows"));
  CHECK(graph.nodes.back().inputs.size() <= 24);
  CHECK(graph.nodes.size() > 5);
}

}  // namespace cornu::cuda
