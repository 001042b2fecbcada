// SPDX-License-Identifier: Apache-2.0
// For a gradient that is zero except for some rows: determines which nodes of an optimizer's update
// need no other rows.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {

struct RowwiseUpdate {
  std::set<int> nodes;  // elementwise nodes over the table that compute the rows, in graph order
  // Maps the outputs of some of these nodes to the start value of the variable they update: all
  // other rows stay unchanged.
  std::map<ValueId, ValueId> tables;
};

// These values and all that depend on them, except through the nodes `without`.
std::set<ValueId> made_of(const Rewriter& graph, std::vector<ValueId> values,
                          const std::set<int>& without = {});

class RowwiseUpdates {
 public:
  explicit RowwiseUpdates(const Rewriter& graph, const std::vector<StateBinding>& states);

  // The update by the nodes that read `sums`. Empty if something needs all rows of the sums.
  RowwiseUpdate of(ValueId sums) const;

 private:
  // The value of a row that nothing was added to.
  struct UntouchedRow {
    enum class Kind : uint8_t { Zero, Same, Unknown };
    Kind kind = Kind::Unknown;
    ValueId same = kNoValue;  // the variable whose row it equals
  };
  using Rows = std::map<ValueId, UntouchedRow>;
  using Kind = UntouchedRow::Kind;

  UntouchedRow untouched(const Node& node, const Rows& rows) const;
  std::vector<int> dependents(ValueId sums, Rows& rows) const;
  bool is_update(int index, const Rows& rows) const;
  bool needs_itself(const RowwiseUpdate& update, const std::set<int>& inner) const;

  const Rewriter& graph_;
  std::map<ValueId, ValueId> ends_;  // by a variable's value at the start: its value at the end
};

}  // namespace cornu::passes
