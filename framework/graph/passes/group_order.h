// SPDX-License-Identifier: Apache-2.0
// A graph's nodes in a topological order that is kept while they are merged into groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cornu::passes {

// A group counts as one node: whoever enters it through any member reaches what any member leads
// to. Groups have numbers; at first node i is group i. A merge looks only at what stands between
// the two groups (an online topological order: Pearce and Kelly, 2006).
class GroupOrder {
 public:
  // `readers`: by node, the nodes that read it, all of them behind it.
  explicit GroupOrder(std::vector<std::vector<int>> readers);

  int group_of(int node) const { return group_[static_cast<size_t>(node)]; }
  const std::vector<int>& members(int group) const { return members_[static_cast<size_t>(group)]; }
  const std::vector<int>& readers(int node) const { return readers_[static_cast<size_t>(node)]; }

  enum class Adjacent { Allowed, Refused };
  // Merges two groups and returns the number that they have then; none when a path leads from one
  // to the other through a third (or directly, where that is refused), or may do so: a search that
  // takes too long counts as having found one.
  std::optional<int> merge(int a, int b, Adjacent adjacent);

  // How many readers all searches have looked at.
  int64_t steps() const { return steps_; }

 private:
  // What `first` leads to and stands before `second`; none when some of it leads to `second`.
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
  // A list in topological order, with labels that grow along it. Its end is the last element.
  std::vector<int> next_;
  std::vector<int> previous_;
  std::vector<int64_t> label_;
  std::vector<int> seen_;  // by group: the last search that met it
  int searches_ = 0;
  int64_t steps_ = 0;
};

}  // namespace cornu::passes
