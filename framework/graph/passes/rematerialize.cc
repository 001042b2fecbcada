// SPDX-License-Identifier: Apache-2.0
// Gradient checkpointing (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
#include <algorithm>
#include <map>
#include <utility>

#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

class Rematerialization {
 public:
  explicit Rematerialization(Graph graph)
      : graph_(std::move(graph)),
        nodes_(std::exchange(graph_.nodes, {})),
        producers_(graph_.types.size(), -1),
        again_(graph_.types.size(), kNoValue),
        starts_(graph_.types.size()),
        dropped_(graph_.types.size()) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (ValueId id : nodes_[i].outputs) {
        producers_[static_cast<size_t>(id)] = static_cast<int32_t>(i);
      }
    }
    for (const StateBinding& state : graph_.states) starts_[static_cast<size_t>(state.in)] = true;
    find_dropped();
  }

  Graph run() && {
    for (const Node& node : nodes_) {
      Node copy = node;
      for (ValueId& id : copy.inputs) {
        if (reads_again(node, id)) id = again(id);
      }
      graph_.nodes.push_back(std::move(copy));
    }
    return std::move(graph_);
  }

 private:
  // Null for inputs and states.
  const Node* producer(ValueId id) const {
    const int32_t index = producers_[static_cast<size_t>(id)];
    return index < 0 ? nullptr : &nodes_[static_cast<size_t>(index)];
  }
  bool reads_again(const Node& node, ValueId id) const {
    return node.of_gradient && is_dropped(id) && producer(id)->region != node.region;
  }
  // Whether it isn't kept for gradients: a value of a region that is read only by the region and by
  // gradients. Values of nodes that must run exactly once are kept.
  bool is_dropped(ValueId id) const { return dropped_[static_cast<size_t>(id)]; }

  void find_dropped() {
    for (const Node& node : nodes_) {
      const bool drops = node.region != 0 && !must_run(node) && !node.is("constant");
      for (ValueId id : node.outputs) dropped_[static_cast<size_t>(id)] = drops;
    }
    const auto keep = [&](ValueId id) { dropped_[static_cast<size_t>(id)] = false; };
    for (ValueId id : graph_.outputs) keep(id);
    for (const StateBinding& state : graph_.states) keep(state.out);
    for (const Node& node : nodes_) {
      if (node.of_gradient) continue;
      for (ValueId id : node.inputs) {
        if (is_dropped(id) && producer(id)->region != node.region) keep(id);
      }
    }
  }

  // Recomputes the value here from values that are kept.
  ValueId again(ValueId id) {
    std::vector<int32_t> needed;  // nodes of the region
    std::vector<ValueId> open = {id};
    while (!open.empty()) {
      const ValueId next = open.back();
      open.pop_back();
      if (!is_dropped(next) || again_[static_cast<size_t>(next)] != kNoValue) continue;
      needed.push_back(producers_[static_cast<size_t>(next)]);
      const Node& node = *producer(next);
      for (ValueId output : node.outputs) again_[static_cast<size_t>(output)] = output;  // seen
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
    std::ranges::sort(needed);
    for (int32_t index : needed) repeat(nodes_[static_cast<size_t>(index)]);
    return again_[static_cast<size_t>(id)];
  }

  void repeat(Node node) {
    for (ValueId& id : node.inputs) {
      id = is_dropped(id) ? again_[static_cast<size_t>(id)] : behind_barrier(id, node);
    }
    for (ValueId& id : node.outputs) {
      const ValueId first = id;
      id = graph_.add_value(TensorType(graph_.type(first)));
      again_[static_cast<size_t>(first)] = id;
    }
    node.of_gradient = true;
    node.region = 0;
    graph_.nodes.push_back(std::move(node));
  }

  // Prevents the recomputation from being merged with the original computation. Variables and
  // constants are in memory in any case.
  ValueId behind_barrier(ValueId id, const Node& reader) {
    const Node* made_by = producer(id);
    if (starts_[static_cast<size_t>(id)] || (made_by && made_by->is("constant"))) return id;
    const auto [known, is_new] = barriers_.try_emplace({reader.region, id}, kNoValue);
    if (is_new) {
      known->second = graph_.add_value(TensorType(graph_.type(id)));
      graph_.nodes.push_back({.op = &OpRegistry::global().at("optimization_barrier"),
                              .inputs = {id},
                              .outputs = {known->second},
                              .attributes = {},
                              .scope = reader.scope,
                              .of_gradient = true});
    }
    return known->second;
  }

  Graph graph_;
  std::vector<Node> nodes_;         // the nodes of the original graph; graph_.nodes is rebuilt
  std::vector<int32_t> producers_;  // by value
  std::vector<ValueId> again_;      // by value: its replacement in gradients
  std::vector<bool> starts_;        // by value: whether it is the start value of a state
  std::vector<bool> dropped_;       // by value
  std::map<std::pair<int64_t, ValueId>, ValueId> barriers_;  // by region and value
};

}  // namespace

Graph rematerialize(Graph graph) {
  const bool any =
      std::ranges::any_of(graph.nodes, [](const Node& node) { return node.region != 0; });
  return any ? Rematerialization(std::move(graph)).run() : graph;
}

}  // namespace cornu::passes
