// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/elementwise_groups.h"

#include <algorithm>
#include <numeric>

#include "framework/graph/passes/group_order.h"
#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

constexpr size_t kMostNodes = 64;       // in one group
constexpr size_t kMostInputs = 24;      // of one group
constexpr int64_t kMostColumns = 8192;  // of a sum in a group

bool is_fusible(const Graph& graph, const Node& node) {
  return node.op->traits.elementwise && node.outputs.size() == 1 &&
         graph.type(node.outputs[0]).shape.num_elements() > 0;
}

// A sum that a group can compute, with few enough columns for a thread's memory.
bool is_column_sum(const Graph& graph, const Node& node, FusedSums sums) {
  if (!node.is("reduce_sum")) return false;
  const auto& [dtype, shape] = graph.type(node.inputs[0]);
  if (!is_floating(dtype) || (is_half(dtype) && sums != FusedSums::AllFloats)) return false;
  const auto columns = summed_columns(shape, node.attributes.get_ints("axes"));
  return columns && *columns <= kMostColumns;
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

// By node: the nodes that must come after it, in order: those that read its outputs and, of a
// collective, the next collective.
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

// Grows groups. Groups are convex: no path leaves a group and comes back, so that each can become
// one node.
class Grouping {
 public:
  Grouping(const Graph& graph, FusedSums sums)
      : graph_(graph),
        sums_(sums),
        producers_(graph.producers()),
        readers_(value_readers(graph)),
        order_(node_readers(graph, readers_)),
        inputs_(graph.nodes.size()) {
    for (const Node& node : graph.nodes) fusible_.push_back(is_fusible(graph, node));
    for (int node = static_cast<int>(graph.nodes.size()); node-- > 0;) {
      if (is_elementwise(node)) place(node);
    }
    merge_siblings();
    for (int node = 0; node < static_cast<int>(graph_.nodes.size()); ++node) {
      if (is_column_sum(graph, graph.nodes[static_cast<size_t>(node)], sums)) attach_sum(node);
    }
  }

  std::vector<std::vector<int>> groups() const {
    std::vector<std::vector<int>> result;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int group = static_cast<int>(i);
      if (order_.members(group).empty()) continue;
      const Node& node = graph_.nodes[static_cast<size_t>(order_.members(group).front())];
      if (!is_fusible(graph_, node) && !is_column_sum(graph_, node, sums_)) continue;
      result.push_back(order_.members(group));
      std::ranges::sort(result.back());
    }
    return result;
  }

 private:
  bool is_elementwise(int node) const { return fusible_[static_cast<size_t>(node)]; }
  // The shape that a group's members iterate over.
  const Shape& shape(int group) const {
    const auto index = static_cast<size_t>(order_.members(group).front());
    const Node& node = graph_.nodes[index];
    return graph_.type(fusible_[index] ? node.outputs[0] : node.inputs[0]).shape;
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

  // The inputs of two groups that neither of them computes, sorted.
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

  // Merges groups that read the same value and don't depend on each other, so that it is read once.
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

  // A sum joins the group that computes its operand, or one that reads the operand. Sums come last:
  // nothing in a group may read a sum of the same group.
  void attach_sum(int sum) {
    const ValueId summed = graph_.nodes[static_cast<size_t>(sum)].inputs[0];
    const int32_t producer = producers_[static_cast<size_t>(summed)];
    if (producer >= 0 && is_elementwise(producer)) {
      attach(sum, order_.group_of(producer), GroupOrder::Adjacent::Allowed);
      return;
    }
    for (int reader : readers_[static_cast<size_t>(summed)]) {
      if (!is_elementwise(reader) ||
          shape(order_.group_of(reader)) != graph_.types[static_cast<size_t>(summed)].shape)
        continue;
      if (attach(sum, order_.group_of(reader), GroupOrder::Adjacent::Refused)) return;
    }
  }

  bool attach(int sum, int group, GroupOrder::Adjacent adjacent) {
    if (order_.members(group).size() >= kMostNodes) return false;
    std::vector<ValueId> together = inputs_of_both(sum, group);
    if (together.size() > kMostInputs) return false;
    const auto merged = order_.merge(sum, group, adjacent);
    if (merged) inputs(*merged) = std::move(together);
    return merged.has_value();
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
  FusedSums sums_;
  std::vector<int32_t> producers_;
  std::vector<std::vector<int>> readers_;  // by value
  std::vector<bool> fusible_;              // by node
  GroupOrder order_;
  std::vector<std::vector<ValueId>> inputs_;  // by group, sorted
};

}  // namespace

std::optional<int64_t> summed_columns(const Shape& shape, const std::vector<int64_t>& axes) {
  int64_t columns = 1;  // size of the last axis so far, if it is kept
  bool sums = false;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0) return std::nullopt;
    if (shape[axis] == 1) continue;
    if (columns != 1) return std::nullopt;  // another axis follows a kept one
    const bool summed = std::ranges::find(axes, axis) != axes.end();
    if (!summed) columns = shape[axis];
    sums = sums || summed;
  }
  return sums ? std::optional(columns) : std::nullopt;
}

std::vector<std::vector<int>> elementwise_groups(const Graph& graph, FusedSums sums) {
  return Grouping(graph, sums).groups();
}

}  // namespace cornu::passes
