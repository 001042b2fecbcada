// SPDX-License-Identifier: Apache-2.0
// What a "fused_rows" node computes, ordered for a kernel.
#pragma once

#include <set>
#include <vector>

#include "framework/backends/cuda/kernels/rows/domain.h"

namespace cornu::cuda {

// Reductions have levels: those of level 0 only depend on inputs, those of level 1 also on values
// computed from reductions of level 0, and so on.
class RowsBody {
 public:
  explicit RowsBody(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const RowDomain& domain() const { return domain_; }
  RowKind kind(ValueId id) const { return domain_.kind(graph_.type(id).shape); }
  bool is_reduction(const Node& node) const { return reduced_rows(graph_, node).has_value(); }
  // Whether it has all elements of the array; otherwise it has one per row, or a single one.
  bool is_full(ValueId id) const { return kind(id) == RowKind::Full; }

  int levels() const { return levels_; }
  std::vector<const Node*> reductions(int level) const;
  // Nodes that can be computed for a row as soon as the reductions of all lower levels are
  // complete.
  std::vector<const Node*> of_rows(int level) const;

  // The element values that these depend on, including inputs.
  std::set<ValueId> made_of(const std::vector<ValueId>& ids) const;

 private:
  int level(ValueId id) const { return level_[static_cast<size_t>(id)]; }

  const Graph& graph_;
  RowDomain domain_;
  std::vector<int32_t> producers_;
  std::vector<int> level_;  // by value: number of levels of reductions before it
  int levels_ = 0;
};

}  // namespace cornu::cuda
