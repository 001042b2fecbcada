// SPDX-License-Identifier: Apache-2.0
// Operations over all replicas. Every replica must run the same ones in the same order.
#pragma once

#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// The sum, mean, minimum or maximum ("sum", "mean", "min", "max") over all replicas of each tensor,
// in one transfer. With one replica, the values themselves.
std::vector<Tensor> all_reduce(const std::vector<Tensor>& xs, std::string_view reduce = "sum");
Tensor all_reduce(const Tensor& x, std::string_view reduce = "sum");

// The sum over all replicas, in one transfer, of tensors that are zero but for a few rows
// (attribute "sparse"): of those that take 64 KiB or more, the rows may travel in their place.
std::vector<Tensor> all_reduce_sparse(const std::vector<Tensor>& xs);

// The sum of all replicas' parts, whose gradient is that of this replica's part: for a loss whose
// gradients are summed over the replicas later.
Tensor sum_of_parts(const Tensor& part);
// The sum of what each replica has put in its place among zeros: its value of the shape `own`. What
// it gathers is written down for those who compare replicas' graphs: attributes "gathers" (`own`),
// "axis", and "gather", the number of this all_gather among those of the trace.
Tensor all_reduce_of_gathered(const Tensor& spread, const Shape& own, int64_t axis, int64_t number);

}  // namespace cornu::ops
