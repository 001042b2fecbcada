// SPDX-License-Identifier: Apache-2.0
// Batches of rows of tensors in host memory, shared by data pipelines and array inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// Returns the given rows (indices into axis 0) of `table`, in their order, with shape (rows.size(),
// table.shape()[1:]). Consecutive rows are not copied: the result then shares `table`'s memory.
// Throws OutOfRange when a row isn't in [0, table.shape()[0]).
Tensor gather_rows(const Tensor& table, std::span<const int64_t> rows);

// Returns row `index` of `table` without axis 0. Nothing is copied.
Tensor row(const Tensor& table, int64_t index);

// Stacks tensors of the same shape and dtype along a new axis 0. `parts` must not be empty. Throws
// InvalidArgument when a shape or dtype differs from the first one's. Strings of parts with no
// other owner are moved.
Tensor stack_rows(std::vector<Tensor> parts);

}  // namespace cornu
