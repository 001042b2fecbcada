// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/portable.h"

#include <utility>

namespace cornu {
namespace {

constexpr size_t kMaxConstant = size_t{64} << 10;  // maximum bytes within a graph's text

// The graph with its values renumbered in order of appearance: the numbers in a trace depend on the
// order in which the compiler evaluates calls.
Graph numbered_in_order(const Graph& graph) {
  Graph result;
  std::vector<ValueId> numbers(graph.types.size(), kNoValue);
  const auto define = [&](ValueId id) {
    return numbers[static_cast<size_t>(id)] = result.add_value(graph.type(id));
  };
  const auto known = [&](ValueId id) { return numbers[static_cast<size_t>(id)]; };
  for (const ValueId id : graph.inputs) result.inputs.push_back(define(id));
  result.states = graph.states;
  for (StateBinding& state : result.states) state.in = define(state.in);
  for (Node node : graph.nodes) {
    for (ValueId& id : node.inputs) id = known(id);
    for (ValueId& id : node.outputs) id = define(id);
    result.nodes.push_back(std::move(node));
  }
  for (StateBinding& state : result.states) state.out = known(state.out);
  for (const ValueId id : graph.outputs) result.outputs.push_back(known(id));
  return result;
}

void require_portable(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    check<InvalidArgument>(!node.op->traits.of_passes,
                           "A graph that travels has ops that programs apply, got '{}', which "
                           "compiling makes of such.",
                           node.op->name);
    for (const auto& [name, value] : node.attributes.entries()) {
      if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value)) {
        require_portable(**body);
      }
    }
  }
}

}  // namespace

PortableGraph to_portable(const Graph& graph) {
  PortableGraph portable;
  portable.text = numbered_in_order(graph).to_string(kMaxConstant, portable.constants);
  return portable;
}

Graph from_portable(const PortableGraph& portable) {
  Graph graph = parse_graph(portable.text, portable.constants);
  require_portable(graph);
  return graph;
}

}  // namespace cornu
