// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/program_facts.h"

#include <algorithm>

#include "framework/graph/passes/placement.h"

namespace cornu {
namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (name.empty() || std::ranges::find(names, name) != names.end()) return;
  names.push_back(name);
}

// The multiplications and additions of a convolution: two for each element of the output and of one
// filter.
double conv_flops(const Shape& output, const Shape& filter) {
  const int64_t filters = filter.back();
  if (filters == 0) return 0;
  const int64_t of_one = filter.num_elements() / filters;
  return 2.0 * static_cast<double>(output.num_elements()) * static_cast<double>(of_one);
}

double matmul_flops(const Graph& graph, const Node& node) {
  const Shape& left = graph.type(node.inputs[0]).shape;
  const int64_t inner = left[left.rank() - (node.attributes.get_bool("transpose_a") ? 2 : 1)];
  const Shape& output = graph.type(node.outputs[0]).shape;
  return 2.0 * static_cast<double>(output.num_elements()) * static_cast<double>(inner);
}

}  // namespace

double flops_of(const Graph& graph, const Node& node) {
  const auto shape = [&](ValueId id) -> const Shape& { return graph.type(id).shape; };
  if (node.is("matmul") || node.is("matmul_bias_act")) return matmul_flops(graph, node);
  if (node.is("conv") || node.is("conv_bias_act")) {
    return conv_flops(shape(node.outputs[0]), shape(node.inputs[1]));
  }
  if (node.is("conv_input_grad")) return conv_flops(shape(node.inputs[0]), shape(node.inputs[1]));
  if (node.is("conv_filter_grad")) return conv_flops(shape(node.inputs[1]), shape(node.outputs[0]));
  if (node.is("conv_pool")) {
    const TensorType types[] = {graph.type(node.inputs[0]), graph.type(node.inputs[1])};
    const OpDef& conv = OpRegistry::global().at("conv");
    return conv_flops(conv.infer(types, node.attributes).front().shape, types[1].shape);
  }
  return 0;
}

namespace {

ProgramInstruction instruction_of(const Graph& graph, const Node& node) {
  ProgramInstruction result{.op = std::string(node.op->name), .flops = flops_of(graph, node)};
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (const ValueId id : *ids) result.bytes += static_cast<int64_t>(graph.type(id).bytes());
  }
  if (node.is("fused")) {
    for (const Node& part : node.attributes.get_graph("body").nodes) {
      if (part.is("constant")) continue;
      result.parts.emplace_back(part.op->name);
      add_once(result.scopes, part.scope);
    }
  } else {
    add_once(result.scopes, node.scope);
  }
  return result;
}

}  // namespace

bool is_instruction(const Node& node) { return !node.op->traits.view && !node.is("constant"); }

ProgramFacts facts_of(const Graph& graph, const std::string& name, size_t copied_bytes) {
  ProgramFacts facts{.name = name, .instructions = {}};
  for (const Node& node : graph.nodes) {
    if (is_instruction(node)) facts.instructions.push_back(instruction_of(graph, node));
  }
  if (copied_bytes > 0) {
    facts.instructions.push_back({.op = "copy", .bytes = static_cast<int64_t>(2 * copied_bytes)});
  }
  return facts;
}

}  // namespace cornu
