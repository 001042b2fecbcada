// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/passes/group_alike.h"

#include <algorithm>
#include <map>
#include <string>

#include "framework/backends/cuda/kernels/elementwise/body.h"
#include "framework/backends/cuda/kernels/elementwise/group.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {
namespace {

std::vector<TensorType> infer_group(std::span<const TensorType>, const Attributes& attributes) {
  // Passes run after inference, and the texts of such graphs aren't parsed.
  raise<Unimplemented>("fused_group of {} members: its types are those of its members.",
                       attributes.get_int("members"));
}

const OpDef& group_op() {
  static const OpDef& op = OpRegistry::global().add(
      {.name = "fused_group", .infer = infer_group, .vjp = {}, .traits = {.of_passes = true}});
  return op;
}

std::vector<TensorType> types_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorType> types;
  for (const ValueId id : ids) types.push_back(graph.type(id));
  return types;
}

// Nodes whose operands all come from outside of the graph: casts of weights.
std::vector<bool> first_ones(const Graph& graph) {
  const std::vector<int32_t> producers = graph.producers();
  std::vector<bool> result;
  for (const Node& node : graph.nodes) {
    result.push_back(!node.inputs.empty() && std::ranges::all_of(node.inputs, [&](ValueId id) {
      return producers[static_cast<size_t>(id)] < 0;
    }));
  }
  return result;
}

// Nodes whose results are graph outputs that no node reads.
std::vector<bool> last_ones(const Graph& graph) {
  std::vector<bool> is_read(graph.types.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) is_read[static_cast<size_t>(id)] = true;
  }
  std::vector<bool> result;
  for (const Node& node : graph.nodes) {
    result.push_back(std::ranges::none_of(
        node.outputs, [&](ValueId id) { return is_read[static_cast<size_t>(id)]; }));
  }
  return result;
}

// The computation of a node as the body of a "fused" node.
std::shared_ptr<const Graph> body_of(const Graph& graph, const Node& node) {
  if (node.is("fused")) return std::make_shared<const Graph>(node.attributes.get_graph("body"));
  Graph body;
  for (const ValueId id : node.inputs) body.inputs.push_back(body.add_value(graph.type(id)));
  for (const ValueId id : node.outputs) body.outputs.push_back(body.add_value(graph.type(id)));
  Node only = node;
  only.inputs = body.inputs;
  only.outputs = body.outputs;
  body.nodes.push_back(std::move(only));
  return std::make_shared<const Graph>(std::move(body));
}

Node group_of(const Graph& graph, const std::vector<size_t>& members) {
  const Node& first = graph.nodes[members.front()];
  Node group{
      .op = &group_op(), .inputs = {}, .outputs = {}, .attributes = {}, .scope = first.scope};
  for (const size_t index : members) {
    const Node& node = graph.nodes[index];
    group.inputs.insert(group.inputs.end(), node.inputs.begin(), node.inputs.end());
    group.outputs.insert(group.outputs.end(), node.outputs.begin(), node.outputs.end());
  }
  group.attributes.set("members", static_cast<int64_t>(members.size()));
  group.attributes.set("body", body_of(graph, first));
  return group;
}

// Groups of those nodes that perform the same computation; `moved` marks their members.
std::vector<Node> groups_of(const Graph& graph, const std::vector<bool>& chosen,
                            std::vector<bool>& moved) {
  std::map<std::string, std::vector<size_t>> alike;  // by computation
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!chosen[i] || moved[i] || !(node.is("fused") || node.is("cast"))) continue;
    const std::vector<TensorType> in = types_of(graph, node.inputs);
    const std::vector<TensorType> out = types_of(graph, node.outputs);
    const auto body = elementwise_body({*node.op, node.attributes, in, out});
    if (body && is_groupable(*body)) alike[group_key(*body)].push_back(i);
  }
  std::vector<Node> groups;
  for (const auto& [key, nodes] : alike) {
    const Node& first = graph.nodes[nodes.front()];
    const size_t most = most_members(first.inputs.size(), first.outputs.size());
    for (size_t begin = 0; begin < nodes.size(); begin += most) {
      const size_t end = std::min(begin + most, nodes.size());
      if (end - begin < 2) continue;
      const std::vector<size_t> members(nodes.begin() + static_cast<int64_t>(begin),
                                        nodes.begin() + static_cast<int64_t>(end));
      for (const size_t member : members) moved[member] = true;
      groups.push_back(group_of(graph, members));
    }
  }
  return groups;
}

}  // namespace

Graph group_alike(Graph graph) {
  std::vector<bool> moved(graph.nodes.size(), false);
  std::vector<Node> groups = groups_of(graph, last_ones(graph), moved);
  std::vector<Node> nodes = groups_of(graph, first_ones(graph), moved);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!moved[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  nodes.insert(nodes.end(), std::make_move_iterator(groups.begin()),
               std::make_move_iterator(groups.end()));
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace cornu::cuda
