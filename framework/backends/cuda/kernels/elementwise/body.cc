// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/elementwise/body.h"

#include <algorithm>

#include "framework/backends/cuda/kernels/elementwise/body_writer.h"
#include "framework/graph/passes/elementwise_groups.h"

namespace cornu::cuda {
namespace {

// The graph of a single op.
Graph graph_of(const KernelSpec& spec) {
  Graph graph;
  for (const TensorType& type : spec.inputs) graph.inputs.push_back(graph.add_value(type));
  Node node{.op = &spec.op,
            .inputs = graph.inputs,
            .outputs = {graph.add_value(spec.outputs[0])},
            .attributes = spec.attributes,
            .scope = {}};
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

// The common shape of all arrays; nullopt if they differ.
std::optional<Shape> shape_of(const ElementwiseBody& body, const Graph& graph,
                              const std::vector<const Node*>& sums) {
  std::optional<Shape> shape;
  const auto same = [&](const Shape& other) {
    if (!shape) shape = other;
    return *shape == other;
  };
  for (const Node* node : sums) {
    if (node && !same(graph.type(node->inputs[0]).shape)) return std::nullopt;
  }
  for (const size_t index : body.arrays) {
    if (!same(graph.type(graph.outputs[index]).shape)) return std::nullopt;
  }
  return shape;
}

// "void body(f32 x0, bf16& y0, f32& s0)"
std::string signature(const ElementwiseBody& body) {
  std::string text = "__device__ __forceinline__ void body(";
  const char* separator = "";
  const auto add = [&](const std::string& type, const char* mark, char letter, size_t index) {
    text += fmt::format("{}{}{} {}{}", separator, type, mark, letter, index);
    separator = ", ";
  };
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    add(compute_name(body.inputs[i].dtype), "", 'x', i);
  }
  for (size_t i = 0; i < body.arrays.size(); ++i) add(type_name(body.array_types[i]), "&", 'y', i);
  for (size_t i = 0; i < body.sums.size(); ++i) add(compute_name(body.sums[i].dtype), "&", 's', i);
  return text + ") {\n";
}

std::optional<ElementwiseBody> body_of(const Graph& graph) {
  ElementwiseBody body;
  BodyWriter writer;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    body.inputs.push_back(graph.type(graph.inputs[i]));
    writer.set_name(graph.inputs[i], fmt::format("x{}", i));
  }
  std::vector<const Node*> sum_of(graph.types.size(), nullptr);
  for (const Node& node : graph.nodes) {
    writer.note_constant(node);
    if (node.is("reduce_sum")) {
      sum_of[static_cast<size_t>(node.outputs[0])] = &node;
    } else if (!writer.add(node, graph)) {
      return std::nullopt;
    }
  }
  std::string results;
  std::vector<const Node*> sums;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ValueId id = graph.outputs[i];
    const DType dtype = graph.type(id).dtype;
    const Node* sum = sum_of[static_cast<size_t>(id)];
    sums.push_back(sum);
    if (sum) {
      const auto columns = passes::summed_columns(graph.type(sum->inputs[0]).shape,
                                                  sum->attributes.get_ints("axes"));
      if (!columns || !is_floating(dtype)) return std::nullopt;
      const std::string& value = writer.name(sum->inputs[0]);
      results += fmt::format("  s{} = {};\n", body.sums.size(),
                             is_half(dtype) ? rounded(dtype, value) : value);
      body.sums.push_back({i, *columns, dtype});
    } else {
      results += fmt::format("  y{} = narrow<{}>({});\n", body.arrays.size(), type_name(dtype),
                             writer.name(id));
      body.arrays.push_back(i);
      body.array_types.push_back(dtype);
    }
  }
  const std::optional<Shape> shape = shape_of(body, graph, sums);
  if (!shape) return std::nullopt;
  body.shape = *shape;
  body.text = signature(body) + writer.text() + results + "}\n";
  return body;
}

}  // namespace

int64_t ElementwiseBody::columns() const {
  int64_t most = 1;
  for (const Sum& sum : sums) most = std::max(most, sum.columns);
  return most;
}

std::string body_name(const KernelSpec& spec) {
  std::string name = spec.op.name;
  if (!name.starts_with("fused")) return name;
  constexpr size_t kLongest = 48;
  for (const Node& node : spec.attributes.get_graph("body").nodes) {
    if (!node.is("constant") && name.size() < kLongest) name += "_" + node.op->name;
  }
  return name;
}

std::optional<ElementwiseBody> elementwise_body(const KernelSpec& spec) {
  return body_of(spec.op.name == "fused" ? spec.attributes.get_graph("body") : graph_of(spec));
}

}  // namespace cornu::cuda
