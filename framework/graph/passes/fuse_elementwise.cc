// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "framework/graph/passes/group_order.h"
#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

constexpr size_t kMostNodes = 64;   // in one group
constexpr size_t kMostInputs = 24;  // of one group

std::vector<TensorType> infer_fused(std::span<const TensorType> inputs,
                                    const Attributes& attributes) {
  const Graph& body = attributes.get_graph("body");
  CORNU_ASSERT(body.inputs.size(), ==, inputs.size());
  std::vector<TensorType> types;
  for (ValueId id : body.outputs) types.push_back(body.type(id));
  return types;
}

// Registered on first use: no program calls it.
const OpDef& fused_op() {
  static const OpDef& op =
      OpRegistry::global().add({.name = "fused", .infer = infer_fused, .vjp = {}, .traits = {}});
  return op;
}

bool is_fusible(const Graph& graph, const Node& node) {
  return node.op->traits.elementwise && node.outputs.size() == 1 &&
         graph.type(node.outputs[0]).shape.num_elements() > 0;
}

// By value: the nodes that read it, each once, in order.
std::vector<std::vector<int>> value_readers(const Graph& graph) {
  std::vector<std::vector<int>> result(graph.types.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].inputs) {
      auto& readers = result[static_cast<size_t>(id)];
      const int node = static_cast<int>(i);
      if (readers.empty() || readers.back() != node) readers.push_back(node);
    }
  }
  return result;
}

// By node: the nodes that must stand behind it, in order: those that read its outputs, and the next
// one that communicates, of those that do.
std::vector<std::vector<int>> node_readers(const Graph& graph,
                                           const std::vector<std::vector<int>>& of_values) {
  std::vector<std::vector<int>> result;
  for (const Node& node : graph.nodes) {
    std::vector<int>& readers = result.emplace_back();
    for (ValueId id : node.outputs) {
      const auto& more = of_values[static_cast<size_t>(id)];
      readers.insert(readers.end(), more.begin(), more.end());
    }
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  }
  const std::vector<int32_t> before = previous_collectives(graph);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 0) continue;
    std::vector<int>& readers = result[static_cast<size_t>(before[i])];
    const auto at = std::ranges::lower_bound(readers, static_cast<int>(i));
    if (at == readers.end() || *at != static_cast<int>(i)) readers.insert(at, static_cast<int>(i));
  }
  return result;
}

// Grows groups of elementwise nodes with one output shape. Groups are convex: no path leaves a
// group and comes back, so that each can become one node.
class Grouping {
 public:
  explicit Grouping(const Graph& graph)
      : graph_(graph),
        producers_(graph.producers()),
        readers_(value_readers(graph)),
        order_(node_readers(graph, readers_)),
        inputs_(graph.nodes.size()) {
    for (const Node& node : graph.nodes) fusible_.push_back(is_fusible(graph, node));
    for (int node = static_cast<int>(graph.nodes.size()); node-- > 0;) {
      if (is_elementwise(node)) place(node);
    }
    merge_siblings();
  }

  // Those of several nodes, each in order.
  std::vector<std::vector<int>> groups() const {
    std::vector<std::vector<int>> result;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int group = static_cast<int>(i);
      if (order_.members(group).size() < 2) continue;
      result.push_back(order_.members(group));
      std::ranges::sort(result.back());
    }
    return result;
  }

 private:
  bool is_elementwise(int node) const { return fusible_[static_cast<size_t>(node)]; }
  const Shape& shape(int group) const {
    const int node = order_.members(group).front();
    return graph_.type(graph_.nodes[static_cast<size_t>(node)].outputs[0]).shape;
  }
  std::vector<ValueId>& inputs(int group) { return inputs_[static_cast<size_t>(group)]; }

  // Joins the group of a reader when that keeps it convex; else it is a group of its own.
  void place(int node) {
    std::vector<ValueId>& own = inputs(node);
    own = graph_.nodes[static_cast<size_t>(node)].inputs;
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    for (int reader : order_.readers(node)) {
      if (!is_elementwise(reader)) continue;
      const int group = order_.group_of(reader);
      if (shape(group) != shape(node) || order_.members(group).size() >= kMostNodes) continue;
      std::vector<ValueId> together = inputs_of_both(node, group);
      if (together.size() > kMostInputs) continue;
      const auto merged = order_.merge(node, group, GroupOrder::Adjacent::Allowed);
      if (!merged) continue;
      inputs(*merged) = std::move(together);
      return;
    }
  }

  // What two groups read that neither makes, sorted.
  std::vector<ValueId> inputs_of_both(int a, int b) {
    std::vector<ValueId> result;
    std::ranges::set_union(inputs(a), inputs(b), std::back_inserter(result));
    std::erase_if(result, [&](ValueId id) {
      const int32_t producer = producers_[static_cast<size_t>(id)];
      if (producer < 0) return false;
      const int group = order_.group_of(producer);
      return group == a || group == b;
    });
    return result;
  }

  // Groups that read the same value walk over it together, where neither depends on the other.
  void merge_siblings() {
    for (size_t value = 0; value < readers_.size(); ++value) {
      int first = -1;
      for (int node : readers_[value]) {
        if (!is_elementwise(node) || shape(order_.group_of(node)) != graph_.types[value].shape) {
          continue;
        }
        const int group = order_.group_of(node);
        if (first < 0) {
          first = group;
        } else if (group != first) {
          first = merge_sibling(first, group);
        }
      }
    }
  }

  // The merged group, or the first where they stay apart.
  int merge_sibling(int first, int other) {
    if (order_.members(first).size() + order_.members(other).size() > kMostNodes) return first;
    if (inputs(first).size() + inputs(other).size() > kMostInputs) return first;
    std::vector<ValueId> together = inputs_of_both(first, other);
    const auto merged = order_.merge(first, other, GroupOrder::Adjacent::Refused);
    if (!merged) return first;
    inputs(*merged) = std::move(together);
    return *merged;
  }

  const Graph& graph_;
  std::vector<int32_t> producers_;
  std::vector<std::vector<int>> readers_;  // by value
  std::vector<bool> fusible_;              // by node
  GroupOrder order_;
  std::vector<std::vector<ValueId>> inputs_;  // by group, sorted
};

// Makes "fused" nodes of groups of nodes.
class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph), producers_(graph.producers()), uses_(graph.use_counts()) {}

  // Moves the given nodes (indices in order) into the body of one "fused" node.
  Node fuse(const std::vector<int>& nodes) const {
    auto body = std::make_shared<Graph>();
    Node fused{.op = &fused_op(), .inputs = {}, .outputs = {}, .attributes = {}, .scope = {}};
    std::unordered_map<ValueId, ValueId> to_body;
    std::unordered_map<ValueId, int> uses_inside;
    auto body_value = [&](ValueId id) {
      ++uses_inside[id];
      if (const auto it = to_body.find(id); it != to_body.end()) return it->second;
      const ValueId inner = body->add_value(graph_.type(id));
      if (is_scalar_constant(id)) {  // kernels make an immediate of it
        Node copy = *producer(id);
        copy.outputs = {inner};
        body->nodes.push_back(std::move(copy));
      } else {
        body->inputs.push_back(inner);
        fused.inputs.push_back(id);
      }
      return to_body[id] = inner;
    };
    for (int index : nodes) {
      Node node = graph_.nodes[static_cast<size_t>(index)];
      for (ValueId& id : node.inputs) id = body_value(id);
      for (ValueId& id : node.outputs) id = to_body[id] = body->add_value(graph_.type(id));
      body->nodes.push_back(std::move(node));
    }
    for (int index : nodes) {
      const ValueId id = graph_.nodes[static_cast<size_t>(index)].outputs[0];
      if (uses_[static_cast<size_t>(id)] == uses_inside[id]) continue;
      fused.outputs.push_back(id);
      body->outputs.push_back(to_body.at(id));
    }
    fused.scope = graph_.nodes[static_cast<size_t>(nodes.back())].scope;
    fused.attributes.set("body", std::shared_ptr<const Graph>(body));
    return fused;
  }

 private:
  const Node* producer(ValueId id) const {
    const int32_t index = producers_[static_cast<size_t>(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(index)];
  }
  bool is_scalar_constant(ValueId id) const {
    return producer(id) && producer(id)->is("constant") &&
           graph_.type(id).shape.num_elements() == 1;
  }

  const Graph& graph_;
  std::vector<int32_t> producers_;
  std::vector<int32_t> uses_;
};

}  // namespace

Graph fuse_elementwise(const Graph& graph) {
  const Fuser fuser(graph);
  Graph result = graph;
  std::vector<bool> moved(graph.nodes.size(), false);
  for (const std::vector<int>& nodes : Grouping(graph).groups()) {
    for (int index : nodes) moved[static_cast<size_t>(index)] = true;
    // A fused node stands where its last member stood.
    const auto last = static_cast<size_t>(nodes.back());
    moved[last] = false;
    result.nodes[last] = fuser.fuse(nodes);
  }
  size_t count = 0;
  for (size_t i = 0; i < result.nodes.size(); ++i) {
    if (moved[i]) continue;
    if (i != count) result.nodes[count] = std::move(result.nodes[i]);
    ++count;
  }
  result.nodes.resize(count);
  sort_topologically(result);
  return eliminate_dead_nodes(std::move(result));
}

}  // namespace cornu::passes
