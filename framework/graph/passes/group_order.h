// SPDX-License-Identifier: Apache-2.0
// A topological order of a graph's nodes, maintained while they are merged into groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cornu::passes {

// A group counts as one node: a path that enters through any member may leave through any other.
// Groups are numbered; initially node i is group i. A merge inspects only the groups between the
// two in the order (an online topological order: Pearce and Kelly, 2006).
class GroupOrder {
 public:
  // `readers`: by node, the nodes that read it, which must come after it.
  explicit GroupOrder(std::vector<std::vector<int>> readers);

  int group_of(int node) const { return group_[static_cast<size_t>(node)]; }
  const std::vector<int>& members(int group) const { return members_[static_cast<size_t>(group)]; }
  const std::vector<int>& readers(int node) const { return readers_[static_cast<size_t>(node)]; }

  enum class Adjacent { Allowed, Refused };
  // Merges two groups and returns the number of the result; nullopt if a path leads from one to the
  // other through a third (or directly, if Adjacent::Refused), or if the search for such a path
  // takes too long.
  std::optional<int> merge(int a, int b, Adjacent adjacent);

  // The number of readers inspected by all searches.
  int64_t steps() const { return steps_; }

 private:
  // The groups reachable from `first` that come before `second`; nullopt if one of them leads to
  // `second`.
  std::optional<std::vector<int>> between(int first, int second, Adjacent adjacent);
  void move_behind(int group, std::vector<int> moved);
  void unlink(int group);
  void link_behind(int group, int before);
  void renumber();

  int64_t& label(int group) { return label_[static_cast<size_t>(group)]; }
  int& next(int group) { return next_[static_cast<size_t>(group)]; }
  int& previous(int group) { return previous_[static_cast<size_t>(group)]; }

  std::vector<std::vector<int>> readers_;
  std::vector<int> group_;                 // by node
  std::vector<std::vector<int>> members_;  // by group
  // A linked list in topological order, with increasing labels. Its end is the last element.
  std::vector<int> next_;
  std::vector<int> previous_;
  std::vector<int64_t> label_;
  std::vector<int> seen_;  // by group: the last search that visited it
  int searches_ = 0;
  int64_t steps_ = 0;
};

}  // namespace cornu::passes
