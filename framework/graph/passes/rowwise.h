// SPDX-License-Identifier: Apache-2.0
// Of a gradient that is zero but for some rows: which nodes of an optimizer's update need no
// others.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {

struct RowwiseUpdate {
  std::set<int> nodes;  // elementwise ones over the table that give the rows, in graph order
  // By what some of them give, the start value of the variable that becomes it: all other rows stay
  // as they are.
  std::map<ValueId, ValueId> tables;
};

// These values and all that depend on them, but by the nodes `without`.
std::set<ValueId> made_of(const Rewriter& graph, std::vector<ValueId> values,
                          const std::set<int>& without = {});

class RowwiseUpdates {
 public:
  explicit RowwiseUpdates(const Rewriter& graph, const std::vector<StateBinding>& states);

  // Of those that read `sums`. None where something needs all rows of the sums.
  RowwiseUpdate of(ValueId sums) const;

 private:
  // What a row is made of that nothing was added to.
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
  std::map<ValueId, ValueId> ends_;  // by a variable's value at the beginning, that at the end
};

}  // namespace cornu::passes
