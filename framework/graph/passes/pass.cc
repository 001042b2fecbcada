// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/pass.h"

#include <utility>

namespace cornu::passes {

bool must_run(const Node& node) {
  const OpTraits traits = node.traits();
  return traits.collective || traits.has_effect;
}

void keep_nodes(Graph& graph, const std::vector<bool>& kept) {
  size_t count = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (i < kept.size() && !kept[i]) continue;
    if (i != count) graph.nodes[count] = std::move(graph.nodes[i]);
    ++count;
  }
  graph.nodes.resize(count);
}

Graph eliminate_dead_nodes(Graph graph) {
  std::vector<bool> live(graph.types.size(), false);
  auto mark = [&](ValueId id) { live[static_cast<size_t>(id)] = true; };
  for (ValueId id : graph.outputs) mark(id);
  for (const StateBinding& state : graph.states) mark(state.out);
  std::vector<bool> kept(graph.nodes.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    kept[i] = must_run(node);
    for (ValueId id : node.outputs) kept[i] = kept[i] || live[static_cast<size_t>(id)];
    if (!kept[i]) continue;
    for (ValueId id : node.inputs) mark(id);
  }
  keep_nodes(graph, kept);
  return graph;
}

void replace_uses(Graph& graph, const std::vector<ValueId>& replacement) {
  auto final_id = [&](ValueId id) {
    while (replacement[static_cast<size_t>(id)] != id) id = replacement[static_cast<size_t>(id)];
    return id;
  };
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) id = final_id(id);
  }
  for (ValueId& id : graph.outputs) id = final_id(id);
  for (StateBinding& state : graph.states) state.out = final_id(state.out);
}

std::vector<int32_t> previous_collectives(const Graph& graph) {
  std::vector<int32_t> result(graph.nodes.size(), -1);
  int32_t last = -1;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].traits().collective) continue;
    result[i] = std::exchange(last, static_cast<int32_t>(i));
  }
  return result;
}

void sort_topologically(Graph& graph) {
  const std::vector<int32_t> producers = graph.producers();
  const std::vector<int32_t> before = previous_collectives(graph);
  std::vector<Node> sorted;
  enum State : int { kNew, kBegun, kDone };
  std::vector<State> states(graph.nodes.size(), kNew);
  std::vector<std::pair<int32_t, size_t>> path;  // nodes begun, and how many inputs were visited
  auto begin = [&](int32_t index) {
    State& state = states[static_cast<size_t>(index)];
    CORNU_ASSERT(static_cast<int>(state), !=, static_cast<int>(kBegun));  // a cycle
    if (state == kDone) return;
    state = kBegun;
    path.emplace_back(index, 0);
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    begin(static_cast<int32_t>(i));
    while (!path.empty()) {
      auto& [index, seen] = path.back();
      const Node& node = graph.nodes[static_cast<size_t>(index)];
      if (seen > node.inputs.size()) {
        sorted.push_back(std::move(graph.nodes[static_cast<size_t>(index)]));
        states[static_cast<size_t>(index)] = kDone;
        path.pop_back();
        continue;
      }
      const size_t next = seen++;
      const int32_t first = next < node.inputs.size()
                                ? producers[static_cast<size_t>(node.inputs[next])]
                                : before[static_cast<size_t>(index)];
      if (first >= 0) begin(first);
    }
  }
  CORNU_ASSERT(sorted.size(), ==, graph.nodes.size());
  graph.nodes = std::move(sorted);
}

namespace {

void add_collectives(const Graph& graph, const std::string& within,
                     std::vector<std::string>& names) {
  for (const Node& node : graph.nodes) {
    if (!node.traits().collective) continue;
    if (!node.op->traits.runs_graphs) {
      std::string name = within + node.op->name;
      for (ValueId id : node.inputs) {
        name += fmt::format(" {}{}", graph.type(id).dtype, graph.type(id).shape);
      }
      names.push_back(std::move(name));
      continue;
    }
    for (const auto& [attribute, value] : node.attributes.entries()) {
      const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (inner) add_collectives(**inner, within + node.op->name + "/" + attribute + "/", names);
    }
  }
}

}  // namespace

std::vector<std::string> collective_order(const Graph& graph) {
  std::vector<std::string> names;
  add_collectives(graph, "", names);
  return names;
}

}  // namespace cornu::passes
