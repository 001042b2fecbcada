// SPDX-License-Identifier: Apache-2.0
// The node that updates rows of tables, and its body.
#pragma once

#include <vector>

#include "framework/graph/passes/rowwise.h"

namespace cornu::passes {

// Rows of a table of sums: `numbers` and `values`, as returned by sum_rows.
struct RowsOfSums {
  ValueId numbers = kNoValue;
  ValueId values = kNoValue;
};

// Inserts an "update_rows" right before node `place`, which computes `update` of the table `sums`
// from its rows, `block` rows at a time. Returns the new values of update.tables, in their order.
std::vector<ValueId> insert_row_update(Rewriter& graph, int place, ValueId sums,
                                       const RowwiseUpdate& update, const RowsOfSums& rows,
                                       int64_t block);

}  // namespace cornu::passes
