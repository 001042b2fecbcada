// SPDX-License-Identifier: Apache-2.0
// Batches of rows of tensors that lie in host memory: what data pipelines and array inputs share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// A tensor of the given rows (indices into axis 0) of `table`, in their order: shape
// (rows.size(), table.shape()[1:]). Rows that follow one another are not copied: the result then
// shares `table`'s memory. OutOfRange when a row isn't in [0, table.shape()[0]).
Tensor gather_rows(const Tensor& table, std::span<const int64_t> rows);

// Row `index` of `table` without its axis 0, not copied.
Tensor row(const Tensor& table, int64_t index);

// Tensors of one shape and dtype under a new axis 0. `parts` must not be empty. InvalidArgument
// when a shape or dtype differs from the first one's. Strings of parts that nobody else holds are
// moved.
Tensor stack_rows(std::vector<Tensor> parts);

}  // namespace cornu
