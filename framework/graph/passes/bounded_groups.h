// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that may each be merged into one node.
#pragma once

#include <optional>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/graph/passes/group_order.h"

namespace cornu::passes {

// Groups are convex (no path leaves a group and comes back) and of bounded size. Initially each
// node is its own group, numbered like the node.
class BoundedGroups {
 public:
  static constexpr size_t kMaxNodes = 64;   // per group
  static constexpr size_t kMaxInputs = 24;  // per group

  explicit BoundedGroups(const Graph& graph);

  int producer(ValueId id) const { return producers_[static_cast<size_t>(id)]; }
  // The nodes that read a value, each listed once, in order.
  const std::vector<int>& value_readers(ValueId id) const {
    return value_readers_[static_cast<size_t>(id)];
  }
  // Whether the value is an output of the graph, or the new value of a state.
  bool leaves(ValueId id) const { return leaves_[static_cast<size_t>(id)]; }
  // Whether it leaves, or a node of another group reads it.
  bool is_read_outside(ValueId id, int group) const;
  // The nodes that must come after a node, in order: those that read its outputs and, for a
  // collective, the next collective.
  const std::vector<int>& readers(int node) const { return order_.readers(node); }

  int group_of(int node) const { return order_.group_of(node); }
  const std::vector<int>& members(int group) const { return order_.members(group); }
  // The values that its members read but none of them computes, sorted.
  const std::vector<ValueId>& inputs(int group) const {
    return inputs_[static_cast<size_t>(group)];
  }

  // Merges two groups and returns the number of the result; nullopt if it would be too large or not
  // convex.
  std::optional<int> merge(int a, int b,
                           GroupOrder::Adjacent adjacent = GroupOrder::Adjacent::Allowed);

 private:
  std::vector<int32_t> producers_;
  std::vector<std::vector<int>> value_readers_;
  std::vector<bool> leaves_;  // by value
  GroupOrder order_;
  std::vector<std::vector<ValueId>> inputs_;  // by group
};

}  // namespace cornu::passes
