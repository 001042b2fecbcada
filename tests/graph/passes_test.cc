// SPDX-License-Identifier: Apache-2.0
// Passes: text in, text out.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/backends/cpu/passes/passes.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"
#include "tests/graph/count.h"

using namespace cornu;
using test::count;
using test::only;

namespace {

using Inputs = std::vector<Tensor>;

Graph simplified(const std::string& text) {
  return passes::simplify(parse_graph(text),
                          [](const OpDef& op, std::span<const Tensor> inputs,
                             const Attributes& attributes, std::span<const TensorType> types) {
                            return cpu_backend().execute(op, inputs, attributes, types, Device{});
                          });
}

// The sum of a: float32[2,1] and b: float32[2,3], each padded to float32[2,4] as given.
std::string sum_of_parts(const std::string& of_a, const std::string& of_b,
                         const char* value = "0.0") {
  return "graph(%0: float32[2,1], %1: float32[2,3]) {\n"
         "  %2 = constant() {value=<float32[] " +
         std::string(value) +
         ">} : float32[]\n"
         "  %3 = pad(%0, %2) " +
         of_a +
         " : float32[2,4]\n"
         "  %4 = pad(%1, %2) " +
         of_b +
         " : float32[2,4]\n"
         "  %5 = add(%3, %4) : float32[2,4]\n"
         "  return %5\n"
         "}";
}

}  // namespace

TEST_CASE("simplify folds constants, merges equal nodes and drops identities") {
  const Graph graph = simplified(
      "graph(%0: float32[2]) {\n"
      "  %1 = constant() {value=<float32[] 2.0>} : float32[]\n"
      "  %2 = constant() {value=<float32[] -1.0>} : float32[]\n"
      "  %3 = add(%1, %2) : float32[]\n"
      "  %4 = multiply(%0, %3) : float32[2]\n"
      "  %5 = exp(%4) : float32[2]\n"
      "  %6 = exp(%0) : float32[2]\n"
      "  %7 = add(%5, %6) : float32[2]\n"
      "  %8 = sin(%0) : float32[2]\n"
      "  return %7\n"
      "}");
  CHECK(graph.to_string() ==
        "graph(%0: float32[2]) {\n"
        "  %5 = exp(%0) : float32[2]\n"
        "  %7 = add(%5, %5) : float32[2]\n"
        "  return %7\n"
        "}");
}

TEST_CASE("simplify joins parts that are padded to a whole and added") {
  const std::string at_0 = "{high=[0,3], interior=[0,0], low=[0,0]}";
  const std::string at_3 = "{high=[0,0], interior=[0,0], low=[0,3]}";
  const std::string first = "{high=[0,1], interior=[0,0], low=[0,0]}";
  const std::string last = "{high=[0,0], interior=[0,0], low=[0,1]}";
  CHECK(simplified(sum_of_parts(at_0, last)).to_string() ==
        "graph(%0: float32[2,1], %1: float32[2,3]) {\n"
        "  %6 = concatenate(%0, %1) {axis=1} : float32[2,4]\n"
        "  return %6\n"
        "}");
  CHECK(only(simplified(sum_of_parts(at_3, first)), "concatenate").inputs ==
        std::vector<ValueId>{1, 0});
  // Parts that overlap and leave a gap, and a padding value other than zero.
  CHECK(count(simplified(sum_of_parts(at_0, first)), "add") == 1);
  CHECK(count(simplified(sum_of_parts(at_0, last, "1.0")), "add") == 1);
}

TEST_CASE("simplify joins the gradients of what was split") {
  const auto gradient = [](std::vector<int64_t> sizes, int64_t axis, bool all) {
    return [=](const Inputs& in) {
      GradientTape tape;
      tape.watch(in[0]);
      std::vector<int64_t> ends;
      int64_t end = 0;
      for (size_t i = 0; i + 1 < sizes.size(); ++i) ends.push_back(end += sizes[i]);
      const auto parts = ops::split(in[0], ends, axis);
      Tensor sum = ops::sum(ops::square(parts[0]));
      for (size_t i = 1; i < parts.size(); ++i) {
        const double factor = all || i > 1 ? static_cast<double>(i) : 0;
        if (factor != 0) sum = sum + ops::sum(ops::exp(parts[i])) * factor;
      }
      return Inputs{tape.gradient(sum, in[0])};
    };
  };
  struct Case {
    std::vector<int64_t> sizes;
    int64_t axis;
    bool all;  // whether all parts are read
  };
  for (const Case& c : {Case{{2, 2, 2}, 1, true}, Case{{1, 4, 0, 1}, 1, true},
                        Case{{1, 2, 3}, 1, false}, Case{{1, 3}, 0, true}}) {
    const auto f = gradient(c.sizes, c.axis, c.all);
    const Shape shape = c.axis == 1 ? Shape{4, 6} : Shape{4, 5};
    const Graph graph = passes::simplify(trace({{DType::Float32, shape}}, f).graph);
    graph.validate();
    CHECK(count(graph, "concatenate") == (c.all ? 1 : 0));
    CHECK(count(graph, "pad") == (c.all ? 0 : 2));
    std::vector<float> numbers(static_cast<size_t>(shape.num_elements()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1F * static_cast<float>(i);
    const Tensor x = Tensor::from(numbers, shape);
    CHECK(Function(f, {}).call({x})[0].to_vector<float>() == f({x})[0].to_vector<float>());
  }
}

TEST_CASE("simplify keeps collectives") {
  const Graph graph = simplified(
      "graph(%0: float32[2]) {\n"
      "  %1 = all_reduce(%0) {reduce=\"sum\"} : float32[2]\n"
      "  %2 = all_reduce(%0) {reduce=\"sum\"} : float32[2]\n"
      "  return %1\n"
      "}");
  CHECK(count(graph, "all_reduce") == 2);
}

TEST_CASE("layout makes a transposed operand a flag of the matmul") {
  const Graph graph = passes::layout(
      parse_graph("graph(%0: float32[4,3], %1: float32[5,3]) {\n"
                  "  %2 = transpose(%1) {permutation=[1,0]} : float32[3,5]\n"
                  "  %3 = matmul(%0, %2) {transpose_a=false, transpose_b=false} : float32[4,5]\n"
                  "  return %3\n"
                  "}"));
  CHECK(graph.to_string() ==
        "graph(%0: float32[4,3], %1: float32[5,3]) {\n"
        "  %3 = matmul(%0, %1) {transpose_a=false, transpose_b=true} : float32[4,5]\n"
        "  return %3\n"
        "}");
}

TEST_CASE("layout moves transposes after elementwise nodes, where they cancel") {
  const Graph graph =
      passes::layout(parse_graph("graph(%0: float32[8,3,2], %1: float32[2]) {\n"
                                 "  %2 = transpose(%0) {permutation=[0, 2, 1]} : float32[8,2,3]\n"
                                 "  %3 = reshape(%1) {shape=[2, 1]} : float32[2,1]\n"
                                 "  %4 = add(%2, %3) : float32[8,2,3]\n"
                                 "  %5 = exp(%4) : float32[8,2,3]\n"
                                 "  %6 = transpose(%5) {permutation=[0, 2, 1]} : float32[8,3,2]\n"
                                 "  return %6\n"
                                 "}"));
  graph.validate();
  CHECK(graph.to_string() ==
        "graph(%0: float32[8,3,2], %1: float32[2]) {\n"
        "  %3 = reshape(%1) {shape=[2,1]} : float32[2,1]\n"
        "  %7 = reshape(%3) {shape=[1,1,2]} : float32[1,1,2]\n"
        "  %8 = add(%0, %7) : float32[8,3,2]\n"
        "  %9 = exp(%8) : float32[8,3,2]\n"
        "  return %9\n"
        "}");
}

TEST_CASE("layout leaves transposes that differ, that others read, or that would move more") {
  const std::string text =
      "graph(%0: float32[3,3], %1: float16[3,3], %2: float32[3,3]) {\n"
      "  %3 = transpose(%0) {permutation=[1,0]} : float32[3,3]\n"
      "  %4 = add(%3, %2) : float32[3,3]\n"
      "  %5 = transpose(%1) {permutation=[1,0]} : float16[3,3]\n"
      "  %6 = cast(%5) {dtype=float32} : float32[3,3]\n"
      "  %7 = transpose(%2) {permutation=[1,0]} : float32[3,3]\n"
      "  %8 = exp(%7) : float32[3,3]\n"
      "  %9 = sin(%7) : float32[3,3]\n"
      "  return %4, %6, %8, %9\n"
      "}";
  CHECK(passes::layout(parse_graph(text)).to_string() == text);
}

TEST_CASE("layout reduces before a transpose, and reshapes where no data moves") {
  const Graph graph = passes::layout(
      parse_graph("graph(%0: float32[4,1,6], %1: float32[4,5,6]) {\n"
                  "  %2 = transpose(%0) {permutation=[1, 0, 2]} : float32[1,4,6]\n"
                  "  %3 = transpose(%1) {permutation=[2, 0, 1]} : float32[6,4,5]\n"
                  "  %4 = reduce_sum(%3) {axes=[0, 2], keepdims=false} : float32[4]\n"
                  "  return %2, %4\n"
                  "}"));
  graph.validate();
  CHECK(graph.to_string() ==
        "graph(%0: float32[4,1,6], %1: float32[4,5,6]) {\n"
        "  %2 = reshape(%0) {shape=[1,4,6]} : float32[1,4,6]\n"
        "  %4 = reduce_sum(%1) {axes=[1,2], keepdims=false} : float32[4]\n"
        "  return %2, %4\n"
        "}");
}

TEST_CASE("fuse_kernels puts bias and relu into a matmul") {
  const Graph graph = cpu::fuse_kernels(
      parse_graph("graph(%0: float32[4,3], %1: float32[3,5], %2: float32[5]) {\n"
                  "  %3 = matmul(%0, %1) {transpose_a=false, transpose_b=false} : float32[4,5]\n"
                  "  %4 = add(%3, %2) : float32[4,5]\n"
                  "  %5 = relu(%4) : float32[4,5]\n"
                  "  return %5\n"
                  "}"));
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].op->name == "matmul_bias_act");
  CHECK(graph.nodes[0].attributes.get_string("activation") == "relu");
}

TEST_CASE("fuse_kernels fuses what kernels compute in float32, 16-bit numbers too") {
  for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Float16, DType::Float64}) {
    CAPTURE(to_string(dtype));
    const std::vector<TensorType> types = {
        {dtype, {2, 8, 8, 1}}, {dtype, {3, 3, 1, 16}}, {dtype, {16}}, {dtype, {3, 3, 16, 8}},
        {dtype, {8}},          {dtype, {2, 3}},        {dtype, {3}}};
    const TracedGraph traced = trace(types, [](const std::vector<Tensor>& in) {
      const std::vector<Tensor> weights(in.begin() + 1, in.end());
      GradientTape tape;
      for (const Tensor& weight : weights) tape.watch(weight);
      const Tensor small = ops::max_pool(ops::relu(ops::conv(in[0], in[1]) + in[2]), 2);
      const Tensor more = ops::conv(small, in[3], {.padding = "same"}) + in[4];
      const Tensor pooled = ops::max_pool(ops::relu(more), 3);
      const Tensor y = ops::relu(ops::matmul(ops::reshape(pooled, {8, 2}), in[5]) + in[6]);
      return tape.gradient(y, weights);
    });
    const Graph graph = cpu::fuse_kernels(passes::simplify(traced.graph));
    graph.validate();
    const int fused = dtype == DType::Float64 ? 0 : 1;
    CHECK(count(graph, "conv_pool") == fused);
    CHECK(count(graph, "conv_pool_filter_grad") == fused);
    CHECK(count(graph, "conv_bias_act") == fused);
    CHECK(count(graph, "max_pool_with_index") == fused);
    CHECK(count(graph, "max_pool_scatter") == fused);
    CHECK(count(graph, "matmul_bias_act") == fused);
  }
}

TEST_CASE("fuse_kernels leaves a matmul alone whose product is read elsewhere") {
  const Graph graph = cpu::fuse_kernels(
      parse_graph("graph(%0: float32[4,3], %1: float32[3,5], %2: float32[5]) {\n"
                  "  %3 = matmul(%0, %1) {transpose_a=false, transpose_b=false} : float32[4,5]\n"
                  "  %4 = add(%3, %2) : float32[4,5]\n"
                  "  return %3, %4\n"
                  "}"));
  CHECK(count(graph, "matmul") == 1);
}

TEST_CASE("fuse_kernels takes no sum over other axes for a bias's gradient") {
  // As many images as filters, so that both sums have the same shape.
  const std::vector<TensorType> types = {{DType::Float32, {16, 6, 6, 1}},
                                         {DType::Float32, {3, 3, 1, 16}},
                                         {DType::Float32, {16}},
                                         {DType::Float32, {16, 2, 2, 16}}};
  const TracedGraph traced = trace(types, [](const std::vector<Tensor>& in) {
    GradientTape tape;
    tape.watch(in[1]);
    tape.watch(in[2]);
    const Tensor y = ops::max_pool(ops::conv(in[0], in[1]) + in[2], 2);
    auto gradients = tape.gradient(y, {in[1], in[2]}, {.output_gradients = in[3]});
    gradients.push_back(ops::sum(in[3], {1, 2, 3}));
    return gradients;
  });
  const Graph graph = cpu::fuse_kernels(passes::simplify(traced.graph));
  graph.validate();
  CHECK(count(graph, "conv_pool_filter_grad") == 1);
  REQUIRE(count(graph, "reduce_sum") == 1);
  for (const Node& node : graph.nodes) {
    if (!node.is("reduce_sum")) continue;
    CHECK(node.attributes.get_ints("axes") == std::vector<int64_t>{1, 2, 3});
  }
}

TEST_CASE("fuse_elementwise gathers a chain into one node and stays acyclic") {
  const Graph graph = passes::fuse_elementwise(
      parse_graph("graph(%0: float32[8,4]) {\n"
                  "  %1 = exp(%0) : float32[8,4]\n"
                  "  %2 = reduce_sum(%1) {axes=[1], keepdims=true} : float32[8,1]\n"
                  "  %3 = divide(%1, %2) : float32[8,4]\n"
                  "  %4 = log(%3) : float32[8,4]\n"
                  "  return %4\n"
                  "}"));
  // exp can't be fused with divide and log, since the sum is between them.
  CHECK(count(graph, "exp") == 1);
  CHECK(count(graph, "fused") == 1);
  graph.validate();
}

TEST_CASE("plan_memory lets values share memory only when their lives don't meet") {
  const Graph graph = parse_graph(
      "graph(%0: float32[64]) {\n"
      "  %1 = exp(%0) : float32[64]\n"
      "  %2 = exp(%1) : float32[64]\n"
      "  %3 = exp(%2) : float32[64]\n"
      "  %4 = add(%3, %1) : float32[64]\n"
      "  return %4\n"
      "}");
  passes::MemoryRequest request;
  request.scratch_bytes.assign(4, 0);
  request.may_alias.assign(4, {});
  request.needs_memory.assign(5, true);
  request.needs_memory[0] = false;
  const passes::MemoryPlan plan = passes::plan_memory(graph, request);
  CHECK(plan.offsets[0] == passes::MemoryPlan::kNone);
  CHECK(plan.offsets[1] != plan.offsets[2]);
  CHECK(plan.offsets[1] != plan.offsets[3]);
  CHECK(plan.offsets[2] != plan.offsets[3]);
  CHECK(plan.bytes == 3 * 256);  // the sum reuses the memory of value 2
}
