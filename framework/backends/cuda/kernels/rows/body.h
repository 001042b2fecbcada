// SPDX-License-Identifier: Apache-2.0
// What a "fused_rows" node computes, in the order in which a kernel can.
#pragma once

#include <set>
#include <vector>

#include "framework/backends/cuda/kernels/rows/domain.h"

namespace cornu::cuda {

// Reductions have levels: those of level 0 are made of what is read, those of level 1 also of
// values that have reductions of level 0 in them, and so on.
class RowsBody {
 public:
  explicit RowsBody(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const RowDomain& domain() const { return domain_; }
  RowKind kind(ValueId id) const { return domain_.kind(graph_.type(id).shape); }
  bool is_reduction(const Node& node) const { return reduced_rows(graph_, node).has_value(); }
  // Elements of the array; else it has one for each row, or one for all.
  bool is_full(ValueId id) const { return kind(id) == RowKind::Full; }

  int levels() const { return levels_; }
  std::vector<const Node*> reductions(int level) const;
  // What can be computed for a row once the reductions of all lower levels are there, and not
  // before.
  std::vector<const Node*> of_rows(int level) const;

  // The elements' values that these are made of, inputs too.
  std::set<ValueId> made_of(const std::vector<ValueId>& ids) const;

 private:
  int level(ValueId id) const { return level_[static_cast<size_t>(id)]; }

  const Graph& graph_;
  RowDomain domain_;
  std::vector<int32_t> producers_;
  std::vector<int> level_;  // by value: how many levels of reductions come before
  int levels_ = 0;
};

}  // namespace cornu::cuda
