// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend's passes fuse into one kernel.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {
namespace {

const Node* find_node(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes) {
    if (node.is(op)) return &node;
  }
  return nullptr;
}

Graph fused(const std::string& text) {
  Graph graph = fuse_kernels(parse_graph(text));
  graph.validate();
  return graph;
}

constexpr const char* kConv =
    "{strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1} : float16[2,5,5,4]\n";

TEST_CASE("bias and relu become part of a product of 16-bit numbers") {
  const Graph graph = fused(
      "graph(%0: bfloat16[4,3], %1: bfloat16[3,5], %2: bfloat16[5]) {\n"
      "  %3 = matmul(%0, %1) {transpose_a=false, transpose_b=false} : bfloat16[4,5]\n"
      "  %4 = add(%3, %2) : bfloat16[4,5]\n"
      "  %5 = relu(%4) : bfloat16[4,5]\n"
      "  return %5\n"
      "}");
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].is("matmul_bias_act"));
  CHECK(graph.nodes[0].attributes.get_string("activation") == "relu");
}

TEST_CASE("what is computed for each channel has one shape") {
  const Graph graph = passes::simplify(flatten_vectors(parse_graph(
      "graph(%0: float32[1,1,1,8], %1: float32[8], %2: float32[1,1], %3: float32[2,8]) {\n"
      "  %4 = square(%0) : float32[1,1,1,8]\n"
      "  %5 = reshape(%4) {shape=[8]} : float32[8]\n"
      "  %6 = add(%5, %1) : float32[8]\n"
      "  %7 = reshape(%6) {shape=[1,8]} : float32[1,8]\n"
      "  %8 = multiply(%7, %2) : float32[1,8]\n"
      "  %9 = subtract(%3, %8) : float32[2,8]\n"
      "  return %9\n"
      "}")));
  graph.validate();
  for (const Node& node : graph.nodes) {
    const Shape& shape = graph.type(node.outputs[0]).shape;
    if (node.is("square") || node.is("add") || node.is("multiply")) CHECK(shape == Shape{8});
    if (node.is("subtract")) CHECK(shape == Shape{2, 8});
  }
  CHECK(std::ranges::count_if(graph.nodes, [](const Node& node) { return node.is("reshape"); }) ==
        3);  // for the two operands, and before the subtraction
}

TEST_CASE("integers keep their additions") {
  const Graph graph = fused(
      "graph(%0: int32[4,3], %1: int32[3,5], %2: int32[5]) {\n"
      "  %3 = matmul(%0, %1) {transpose_a=false, transpose_b=false} : int32[4,5]\n"
      "  %4 = add(%3, %2) : int32[4,5]\n"
      "  return %4\n"
      "}");
  CHECK(find_node(graph, "add"));
}

TEST_CASE("what is added to a convolution before relu becomes part of it") {
  const Graph graph = fused(std::string("graph(%0: float16[2,5,5,4], %1: float16[3,3,4,4], "
                                        "%2: float16[4], %3: float16[2,5,5,4]) {\n"
                                        "  %4 = conv(%0, %1) ") +
                            kConv +
                            "  %5 = add(%4, %2) : float16[2,5,5,4]\n"
                            "  %6 = add(%3, %5) : float16[2,5,5,4]\n"
                            "  %7 = relu(%6) : float16[2,5,5,4]\n"
                            "  return %7\n"
                            "}");
  REQUIRE(graph.nodes.size() == 1);
  const Node& node = graph.nodes[0];
  CHECK(node.is("conv_bias_act"));
  CHECK(node.inputs == std::vector<ValueId>{0, 1, 2, 3});
  CHECK(node.attributes.get_string("activation") == "relu");
}

TEST_CASE("a sum that something else reads stays") {
  const Graph graph = fused(std::string("graph(%0: float16[2,5,5,4], %1: float16[3,3,4,4], "
                                        "%2: float16[4], %3: float16[2,5,5,4]) {\n"
                                        "  %4 = conv(%0, %1) ") +
                            kConv +
                            "  %5 = add(%4, %2) : float16[2,5,5,4]\n"
                            "  %6 = add(%3, %5) : float16[2,5,5,4]\n"
                            "  %7 = relu(%6) : float16[2,5,5,4]\n"
                            "  return %6, %7\n"
                            "}");
  const Node* conv = find_node(graph, "conv_bias_act");
  REQUIRE(conv);
  CHECK(conv->inputs.size() == 3);
  CHECK(conv->attributes.get_string("activation").empty());
  CHECK(find_node(graph, "relu"));
}

TEST_CASE("a convolution pads its input itself") {
  const Graph graph = fused(
      "graph(%0: float32[2,6,6,3], %1: float32[3,3,3,4]) {\n"
      "  %2 = constant() {value=<float32[] 0.0>} : float32[]\n"
      "  %3 = pad(%0, %2) {low=[0, 1, 2, 0], high=[0, 1, 0, 0], interior=[0, 0, 0, 0]} : "
      "float32[2,8,8,3]\n"
      "  %4 = conv(%3, %1) {strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1} "
      ": float32[2,6,6,4]\n"
      "  return %4\n"
      "}");
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].attributes.get_ints("padding") == std::vector<int64_t>{1, 1, 2, 0});
}

}  // namespace
}  // namespace cornu::cuda
