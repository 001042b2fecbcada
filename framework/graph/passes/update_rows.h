// SPDX-License-Identifier: Apache-2.0
// Updates of tables when a step needs only few of their rows.
#pragma once

#include <cstdint>
#include <functional>

#include "framework/graph/graph.h"

namespace cornu::passes {

struct RowUpdateChoices {
  int64_t least_bytes = 0;  // smaller tables are updated whole
  // Size in bytes of the rows updated at a time: if their number is known, and if it isn't, in
  // which case unused rows in a block have a cost.
  int64_t block_bytes = int64_t{1} << 20;
  int64_t unknown_block_bytes = int64_t{1} << 17;
  // Whether an all_reduce of sparse tensors exchanges a tensor of this type by rows; null: none.
  std::function<bool(const TensorType&)> is_exchanged_by_rows = {};
};

// If an optimizer's update leaves those rows of a variable unchanged that no index of a gradient
// refers to (an embedding with SGD without momentum, or Adagrad), reads and writes only the other
// rows (row_ops.h): the gradient never takes as much memory as the table. For gradients with few
// rows. For sums over replicas that are marked as sparse (all_reduce_sparse), rows may be exchanged
// instead of tables.
//
// The bits are the same, with these exceptions. The sum of several lookups in one table is rounded
// differently. Existing values multiplied or divided by zero count as zero, so that non-finite
// values (a learning rate, 0 / 0 where nothing has been accumulated yet) affect only the referenced
// rows; and -0 stays -0. Other readers of the new table aren't fused with its update: 16-bit tables
// are rounded first, and sums over them are added in the order of unfused ones.
Graph update_rows(const Graph& graph, const RowUpdateChoices& choices);

}  // namespace cornu::passes
