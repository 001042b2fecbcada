// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/elementwise_groups.h"

#include <algorithm>

#include "framework/graph/passes/bounded_groups.h"
#include "framework/graph/passes/group_body.h"

namespace cornu::passes {
namespace {

constexpr int64_t kMaxColumns = 8192;  // of a sum in a group
constexpr int64_t kMaxSmall = 16'384;  // elements: computing so few takes less time than a launch

class Grouping {
 public:
  Grouping(const Graph& graph, const FusionChoices& choices)
      : graph_(graph), choices_(choices), groups_(graph) {
    for (const Node& node : graph.nodes) fusible_.push_back(is_fusible(graph, node));
    for (int node = static_cast<int>(graph.nodes.size()); node-- > 0;) {
      if (is_elementwise(node)) place(node);
    }
    merge_siblings();
    if (choices.joins_small) merge_small();
    for (int node = 0; node < static_cast<int>(graph_.nodes.size()); ++node) {
      if (is_column_sum(graph, graph.nodes[static_cast<size_t>(node)], choices)) attach_sum(node);
    }
  }

  std::vector<std::vector<int>> groups() const {
    std::vector<std::vector<int>> result;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int group = static_cast<int>(i);
      if (groups_.members(group).empty()) continue;
      const Node& node = graph_.nodes[static_cast<size_t>(groups_.members(group).front())];
      if (!is_fusible(graph_, node) && !is_column_sum(graph_, node, choices_)) continue;
      result.push_back(groups_.members(group));
      std::ranges::sort(result.back());
    }
    return result;
  }

 private:
  bool is_elementwise(int node) const { return fusible_[static_cast<size_t>(node)]; }
  // The shape that a group's members iterate over.
  const Shape& shape(int group) const {
    const auto index = static_cast<size_t>(groups_.members(group).front());
    const Node& node = graph_.nodes[index];
    return graph_.type(fusible_[index] ? node.outputs[0] : node.inputs[0]).shape;
  }

  // Adds the node to the group of a reader if that keeps the group convex; otherwise it stays on
  // its own.
  void place(int node) {
    for (int reader : groups_.readers(node)) {
      if (!is_elementwise(reader)) continue;
      const int group = groups_.group_of(reader);
      if (shape(group) == shape(node) && groups_.merge(node, group)) return;
    }
  }

  // Merges groups that read the same value and don't depend on each other, so that the value is
  // read once.
  void merge_siblings() {
    for (ValueId value = 0; value < static_cast<ValueId>(graph_.types.size()); ++value) {
      int first = -1;
      for (int node : groups_.value_readers(value)) {
        if (!reads_all(node, value)) continue;
        const int group = groups_.group_of(node);
        if (first < 0) {
          first = group;
        } else if (group != first) {
          first = merge_sibling(first, group);
        }
      }
    }
  }

  void merge_small() {
    for (ValueId value = 0; value < static_cast<ValueId>(graph_.types.size()); ++value) {
      const int producer = groups_.producer(value);
      if (producer < 0 || !is_elementwise(producer)) continue;
      if (graph_.type(value).shape.num_elements() > kMaxSmall) continue;
      for (int reader : groups_.value_readers(value)) {
        const int group = groups_.group_of(producer);
        if (groups_.group_of(reader) != group && reads_all(reader, value)) {
          groups_.merge(group, groups_.group_of(reader));
        }
      }
    }
  }

  // Adds a sum to the group that computes its operand, or to one that reads the operand. Sums come
  // last: nothing in a group may read a sum of the same group.
  void attach_sum(int sum) {
    const ValueId summed = graph_.nodes[static_cast<size_t>(sum)].inputs[0];
    const int producer = groups_.producer(summed);
    if (producer >= 0 && is_elementwise(producer)) {
      groups_.merge(sum, groups_.group_of(producer));
      return;
    }
    for (int reader : groups_.value_readers(summed)) {
      if (!reads_all(reader, summed)) continue;
      if (groups_.merge(sum, groups_.group_of(reader), GroupOrder::Adjacent::Refused)) return;
    }
  }

  // The merged group, or the first one if they stay separate.
  int merge_sibling(int first, int other) {
    if (groups_.inputs(first).size() + groups_.inputs(other).size() > BoundedGroups::kMaxInputs) {
      return first;
    }
    return groups_.merge(first, other, GroupOrder::Adjacent::Refused).value_or(first);
  }

  // Whether an elementwise node's group has the value's shape.
  bool reads_all(int node, ValueId id) const {
    return is_elementwise(node) && shape(groups_.group_of(node)) == graph_.type(id).shape;
  }

  const Graph& graph_;
  const FusionChoices& choices_;
  BoundedGroups groups_;
  std::vector<bool> fusible_;  // by node
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

bool is_column_sum(const Graph& graph, const Node& node, const FusionChoices& choices) {
  if (!node.is("reduce_sum")) return false;
  const auto& [dtype, shape] = graph.type(node.inputs[0]);
  if (!is_floating(dtype) || (is_half(dtype) && !choices.sums_of_halves)) return false;
  const auto columns = summed_columns(shape, node.attributes.get_ints("axes"));
  return columns && *columns <= kMaxColumns;
}

std::vector<std::vector<int>> elementwise_groups(const Graph& graph, const FusionChoices& choices) {
  return Grouping(graph, choices).groups();
}

}  // namespace cornu::passes
