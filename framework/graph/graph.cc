// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/graph.h"

#include <algorithm>

namespace cornu {

OpTraits Node::traits() const {
  OpTraits traits = op->traits;
  if (!traits.runs_graphs) return traits;
  for (const auto& [name, value] : attributes.entries()) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&value);
    if (!graph) continue;
    for (const Node& node : (*graph)->nodes) {
      const OpTraits inner = node.traits();
      traits.collective |= inner.collective;
      traits.checks_values |= inner.checks_values;
      traits.has_effect |= inner.has_effect;
    }
  }
  return traits;
}

ValueId Graph::add_value(TensorType type) {
  types.push_back(std::move(type));
  return static_cast<ValueId>(types.size()) - 1;
}

std::vector<ValueId> Graph::add_node(const OpDef& op, std::vector<ValueId> node_inputs,
                                     Attributes attributes) {
  std::vector<TensorType> in;
  for (ValueId id : node_inputs) in.push_back(type(id));
  Node node{.op = &op,
            .inputs = std::move(node_inputs),
            .outputs = {},
            .attributes = std::move(attributes),
            .scope = {}};
  for (TensorType& out : op.infer(in, node.attributes)) {
    node.outputs.push_back(add_value(std::move(out)));
  }
  nodes.push_back(std::move(node));
  return nodes.back().outputs;
}

std::vector<int32_t> Graph::producers() const {
  std::vector<int32_t> result(types.size(), -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId id : nodes[i].outputs) result[static_cast<size_t>(id)] = static_cast<int32_t>(i);
  }
  return result;
}

std::vector<int32_t> Graph::use_counts() const {
  std::vector<int32_t> result(types.size(), 0);
  for (const Node& node : nodes) {
    for (ValueId id : node.inputs) ++result[static_cast<size_t>(id)];
  }
  for (ValueId id : outputs) ++result[static_cast<size_t>(id)];
  for (const StateBinding& state : states) ++result[static_cast<size_t>(state.out)];
  return result;
}

void Graph::validate() const {
  std::vector<bool> known(types.size(), false);
  auto define = [&](ValueId id, const char* what) {
    CORNU_ASSERT(id >= 0 && static_cast<size_t>(id) < types.size(), ==, true);
    check<Internal>(!known[static_cast<size_t>(id)], "Graph: value %{} ({}) is defined twice.", id,
                    what);
    known[static_cast<size_t>(id)] = true;
  };
  auto use = [&](ValueId id, std::string_view reader) {
    check<Internal>(
        id >= 0 && static_cast<size_t>(id) < types.size() && known[static_cast<size_t>(id)],
        "Graph: {} reads value %{} before it is defined.", reader, id);
  };
  for (ValueId id : inputs) define(id, "input");
  for (const StateBinding& state : states) define(state.in, "state");
  for (const Node& node : nodes) {
    std::vector<TensorType> in;
    for (ValueId id : node.inputs) {
      use(id, node.op->name);
      in.push_back(type(id));
    }
    const auto out = node.op->infer(in, node.attributes);
    CORNU_ASSERT(out.size(), ==, node.outputs.size());
    for (size_t i = 0; i < out.size(); ++i) {
      define(node.outputs[i], "output");
      const TensorType& declared = type(node.outputs[i]);
      check<Internal>(declared == out[i], "Graph: {} infers {} {}, but %{} is declared as {} {}.",
                      node.op->name, out[i].dtype, out[i].shape, node.outputs[i], declared.dtype,
                      declared.shape);
    }
  }
  for (ValueId id : outputs) use(id, "return");
  for (const StateBinding& state : states) {
    use(state.out, "state");
    CORNU_ASSERT(type(state.in) == type(state.out), ==, true);
  }
}

}  // namespace cornu
