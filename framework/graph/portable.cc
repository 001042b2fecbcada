// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/portable.h"

#include <iterator>
#include <utility>

#include "framework/core/error.h"

namespace cornu {
namespace {

constexpr size_t kLargestConstant = size_t{64} << 10;  // bytes within a graph's text

// Constants that are too large for a text become inputs.
Graph lifted(const Graph& graph, std::vector<Tensor>& constants) {
  Graph small = graph;
  std::erase_if(small.nodes, [&](const Node& node) {
    if (!node.is("constant")) return false;
    const Tensor& value = node.attributes.get_tensor("value");
    if (value.bytes() <= kLargestConstant) return false;
    constants.push_back(value);
    small.inputs.push_back(node.outputs[0]);
    return true;
  });
  return small;
}

// And constants again, before all else.
void put_back(Graph& graph, const std::vector<Tensor>& constants) {
  check<InvalidArgument>(graph.inputs.size() >= constants.size(),
                         "expected a graph of at least {} inputs, got {}.", constants.size(),
                         graph.inputs.size());
  std::vector<Node> nodes;
  const size_t own = graph.inputs.size() - constants.size();
  for (size_t i = 0; i < constants.size(); ++i) {
    const ValueId id = graph.inputs[own + i];
    check<InvalidArgument>(constants[i].defined() && type_of(constants[i]) == graph.type(id),
                           "expected constants of the types that the graph has for them.");
    Node& node = nodes.emplace_back();
    node.op = &OpRegistry::global().at("constant");
    node.outputs = {id};
    node.attributes.set("value", constants[i]);
  }
  graph.inputs.resize(own);
  graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(nodes.begin()),
                     std::make_move_iterator(nodes.end()));
}

// The same with its values numbered as they come: traces number them as compilers order calls.
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

}  // namespace

PortableGraph to_portable(const Graph& graph) {
  PortableGraph portable;
  portable.text = numbered_in_order(lifted(graph, portable.constants)).to_string();
  return portable;
}

Graph from_portable(const PortableGraph& portable) {
  Graph graph = parse_graph(portable.text);
  put_back(graph, portable.constants);
  return graph;
}

}  // namespace cornu
