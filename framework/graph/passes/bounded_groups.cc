// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/bounded_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

std::vector<std::vector<int>> readers_of_values(const Graph& graph) {
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

std::vector<std::vector<int>> readers_of_nodes(const Graph& graph,
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

}  // namespace

BoundedGroups::BoundedGroups(const Graph& graph)
    : producers_(graph.producers()),
      value_readers_(readers_of_values(graph)),
      leaves_(graph.types.size(), false),
      order_(readers_of_nodes(graph, value_readers_)) {
  for (const Node& node : graph.nodes) {
    std::vector<ValueId>& own = inputs_.emplace_back(node.inputs);
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  for (const ValueId id : graph.outputs) leaves_[static_cast<size_t>(id)] = true;
  for (const StateBinding& state : graph.states) leaves_[static_cast<size_t>(state.out)] = true;
}

bool BoundedGroups::is_read_outside(ValueId id, int group) const {
  return leaves(id) || std::ranges::any_of(value_readers(id),
                                           [&](int reader) { return group_of(reader) != group; });
}

std::optional<int> BoundedGroups::merge(int a, int b, GroupOrder::Adjacent adjacent) {
  if (members(a).size() + members(b).size() > kMaxNodes) return std::nullopt;
  std::vector<ValueId> together;
  std::ranges::set_union(inputs(a), inputs(b), std::back_inserter(together));
  std::erase_if(together, [&](ValueId id) {
    if (producer(id) < 0) return false;
    const int group = group_of(producer(id));
    return group == a || group == b;
  });
  if (together.size() > kMaxInputs) return std::nullopt;
  const auto merged = order_.merge(a, b, adjacent);
  if (merged) inputs_[static_cast<size_t>(*merged)] = std::move(together);
  return merged;
}

}  // namespace cornu::passes
