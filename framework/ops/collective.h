// SPDX-License-Identifier: Apache-2.0
// Collective operations over all replicas. Every replica must run the same ones in the same order.
#pragma once

#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Returns the sum, mean, minimum or maximum ("sum", "mean", "min", "max") of each tensor over all
// replicas, in a single transfer. With one replica, the values themselves.
std::vector<Tensor> all_reduce(const std::vector<Tensor>& xs, std::string_view reduce = "sum");
Tensor all_reduce(const Tensor& x, std::string_view reduce = "sum");

// Returns the sums over all replicas, in a single transfer, of tensors that are zero except for a
// few rows (attribute "sparse"): for tensors of 64 KiB or more, only the rows may be transferred.
std::vector<Tensor> all_reduce_sparse(const std::vector<Tensor>& xs);

// Returns the sum of all replicas' parts, with the gradient of this replica's part alone: for a
// loss whose gradients are summed over the replicas later.
Tensor sum_of_parts(const Tensor& part);
// Returns the sum of tensors in which each replica has put its value, of the shape `own`, at its
// position among zeros. The gather is recorded for comparisons between the replicas' graphs in the
// attributes "gathers" (`own`), "axis", and "gather", the number of this all_gather within the
// trace.
Tensor all_reduce_of_gathered(const Tensor& spread, const Shape& own, int64_t axis, int64_t number);

}  // namespace cornu::ops
