// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/rows/body.h"

#include <algorithm>

namespace cornu::cuda {
namespace {

RowDomain domain_of(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (auto domain = reduced_rows(graph, node)) return *domain;
  }
  raise<Internal>("fused_rows: its body reduces no rows.");
}

}  // namespace

RowsBody::RowsBody(const Graph& graph)
    : graph_(graph),
      domain_(domain_of(graph)),
      producers_(graph.producers()),
      level_(graph.types.size(), 0) {
  for (const Node& node : graph.nodes) {
    int& level = level_[static_cast<size_t>(node.outputs[0])];
    for (const ValueId id : node.inputs) level = std::max(level, this->level(id));
    if (is_reduction(node)) levels_ = std::max(levels_, ++level);
  }
}

std::vector<const Node*> RowsBody::reductions(int level) const {
  std::vector<const Node*> result;
  for (const Node& node : graph_.nodes) {
    if (is_reduction(node) && this->level(node.inputs[0]) == level) result.push_back(&node);
  }
  return result;
}

std::vector<const Node*> RowsBody::of_rows(int level) const {
  std::vector<const Node*> result;
  for (const Node& node : graph_.nodes) {
    const ValueId id = node.outputs[0];
    if (!is_reduction(node) && !is_full(id) && this->level(id) == level) result.push_back(&node);
  }
  return result;
}

std::set<ValueId> RowsBody::made_of(const std::vector<ValueId>& ids) const {
  std::set<ValueId> result;
  std::vector<ValueId> open = ids;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    const int32_t producer = producers_[static_cast<size_t>(id)];
    const bool varies = is_full(id) || kind(id) == RowKind::Column;
    if (!varies || !result.insert(id).second || producer < 0) continue;
    const Node& node = graph_.nodes[static_cast<size_t>(producer)];
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return result;
}

}  // namespace cornu::cuda
