// SPDX-License-Identifier: Apache-2.0
// Where reductions across replicas are started, and where they are awaited.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/passes/pass.h"

using namespace cornu;

namespace {

Graph overlapped(const std::string& text) {
  Graph graph = passes::overlap_collectives(parse_graph(text));
  graph.validate();
  return graph;
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes) result.push_back(node.op->name);
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a reduction begins when its operands are there and ends where it is read") {
  const Graph graph = overlapped(
      "graph(%0: float32[2]) {\n"
      "  %1 = exp(%0) : float32[2]\n"
      "  %2 = sin(%0) : float32[2]\n"
      "  %3 = all_reduce(%1) {reduce=\"sum\"} : float32[2]\n"
      "  %4 = cos(%2) : float32[2]\n"
      "  %5 = add(%3, %4) : float32[2]\n"
      "  return %5\n"
      "}");
  CHECK(graph.to_string() ==
        "graph(%0: float32[2]) {\n"
        "  %1 = exp(%0) : float32[2]\n"
        "  %6, %7 = all_reduce_start(%1) {reduce=\"sum\"} : float32[2], int64[]\n"
        "  %2 = sin(%0) : float32[2]\n"
        "  %4 = cos(%2) : float32[2]\n"
        "  %3 = all_reduce_await(%1, %6, %7) : float32[2]\n"
        "  %5 = add(%3, %4) : float32[2]\n"
        "  return %5\n"
        "}");
}

TEST_CASE("with nothing to do meanwhile a reduction stays one node") {
  const Graph graph = overlapped(
      "graph(%0: float32[2], %1: float32[2]) {\n"
      "  %2 = exp(%0) : float32[2]\n"
      "  %3 = all_reduce(%2) {reduce=\"sum\"} : float32[2]\n"
      "  %4 = all_reduce(%1) {reduce=\"mean\"} : float32[2]\n"
      "  %5 = reshape(%3) {shape=[2,1]} : float32[2,1]\n"
      "  %6 = add(%5, %4) : float32[2,2]\n"
      "  return %6\n"
      "}");
  CHECK(names(graph) == Names{"exp", "all_reduce", "all_reduce", "reshape", "add"});
}

TEST_CASE("collectives stay in their order, whatever is ready first") {
  const Graph graph = overlapped(
      "graph(%0: float32[2], %1: float32[2]) {\n"
      "  %2 = exp(%0) : float32[2]\n"
      "  %3 = sin(%2) : float32[2]\n"
      "  %4 = all_reduce(%3) {reduce=\"sum\"} : float32[2]\n"
      "  %5 = all_reduce(%1) {reduce=\"max\"} : float32[2]\n"
      "  %6 = cos(%2) : float32[2]\n"
      "  %7 = add(%6, %5) : float32[2]\n"
      "  %8 = add(%7, %4) : float32[2]\n"
      "  return %8\n"
      "}");
  CHECK(names(graph) == Names{"exp", "sin", "all_reduce_start", "all_reduce_start", "cos",
                              "all_reduce_await", "add", "all_reduce_await", "add"});
  CHECK(graph.nodes[2].attributes.get_string("reduce") == "sum");
  CHECK(graph.nodes[3].attributes.get_string("reduce") == "max");
}

TEST_CASE("results that leave the graph are awaited at its end") {
  const Graph graph = overlapped(
      "graph(%0: float32[2], %1: float32[3]) {\n"
      "  %2, %3 = all_reduce(%0, %1) {reduce=\"sum\"} : float32[2], float32[3]\n"
      "  %4 = cos(%0) : float32[2]\n"
      "  return %2, %3, %4\n"
      "}");
  CHECK(names(graph) == Names{"all_reduce_start", "cos", "all_reduce_await"});
  CHECK(graph.nodes[2].inputs.size() == 5);
}

TEST_CASE("a reduction of another one's result begins when that is there") {
  const Graph graph = overlapped(
      "graph(%0: float32[2]) {\n"
      "  %1 = all_reduce(%0) {reduce=\"sum\"} : float32[2]\n"
      "  %3 = exp(%0) : float32[2]\n"
      "  %2 = all_reduce(%1) {reduce=\"max\"} : float32[2]\n"
      "  %4 = sin(%0) : float32[2]\n"
      "  return %2, %3, %4\n"
      "}");
  CHECK(names(graph) == Names{"all_reduce_start", "exp", "all_reduce_await", "all_reduce_start",
                              "sin", "all_reduce_await"});
}
