// SPDX-License-Identifier: Apache-2.0
// Updates of tables of which a step needs few rows.
#pragma once

#include <cstdint>
#include <functional>

#include "framework/graph/graph.h"

namespace cornu::passes {

struct RowUpdateChoices {
  int64_t least_bytes = 0;  // smaller tables are updated whole
  // Rows that are updated at a time, in bytes: where their number is known, and where it isn't, so
  // that rows which there aren't cost something.
  int64_t block_bytes = int64_t{1} << 20;
  int64_t unknown_block_bytes = int64_t{1} << 17;
  // Of an all_reduce of sparse tensors, those whose rows travel; null: none.
  std::function<bool(const TensorType&)> is_exchanged_by_rows = {};
};

// Where an optimizer's update leaves the rows of a variable as they are that no index of a gradient
// names (of an embedding by SGD without momentum, or Adagrad), only the others are read and
// written (row_ops.h): the gradient is never as large as the table. For gradients of few rows. Of
// sums over replicas that are said to be sparse (all_reduce_sparse), rows may travel in place of
// tables.
//
// The same bits, but for these. The sum of several lookups in one table is rounded otherwise. Zero
// times, or over, what there is counts as zero, so that what isn't finite (a learning rate, 0 / 0
// where nothing was accumulated yet) spoils the named rows alone; and -0 stays -0. What else reads
// the new table isn't fused with its update: 16-bit tables are rounded before, sums of them are
// added up in the order of unfused ones.
Graph update_rows(const Graph& graph, const RowUpdateChoices& choices);

}  // namespace cornu::passes
