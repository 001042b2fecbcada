// SPDX-License-Identifier: Apache-2.0
// The node that updates rows of tables, and what it runs.
#pragma once

#include <vector>

#include "framework/graph/passes/rowwise.h"

namespace cornu::passes {

// Rows of a table of sums: `numbers` and `values`, as sum_rows gives them.
struct RowsOfSums {
  ValueId numbers = kNoValue;
  ValueId values = kNoValue;
};

// Puts an "update_rows" right before node `place`, which computes `update` of the table `sums` from
// its rows, `block` of them at a time. Returns what update.tables become, in their order.
std::vector<ValueId> insert_row_update(Rewriter& graph, int place, ValueId sums,
                                       const RowwiseUpdate& update, const RowsOfSums& rows,
                                       int64_t block);

}  // namespace cornu::passes
