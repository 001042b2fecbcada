// SPDX-License-Identifier: Apache-2.0
// Writing into tensors by index; each function returns a new tensor. Indices that are negative or
// too large throw OutOfRange when the op runs.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

namespace internal {
Tensor slice_update_at(const Tensor& inputs, const Tensor& start_indices, const Tensor& updates);
Tensor slice_at(const Tensor& x, const Tensor& start_indices, const std::vector<int64_t>& shape);
}  // namespace internal

// For each s in [0, num_segments), the maximum, minimum or product of the slices data[i] with
// segment_ids[i] = s. Without any slice: the dtype's lowest (highest) value, which is -infinity
// (infinity) for floats, and 1.
Tensor segment_max(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);
Tensor segment_min(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);
Tensor segment_prod(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);

// Zeros of `shape` with `values` added at `indices` (..., d): each row is a position in the first d
// axes; values has shape indices.shape[:-1] + shape[d:]. Values for the same position are summed.
Tensor scatter(const Tensor& indices, const Tensor& values, const Shape& shape);

// `inputs` with `updates` at the positions given by `indices` (as in scatter): replacing the
// previous elements (if there are several for one position, the last one wins), or combined with
// them by `reduction`: "add", "max", "min", "mul".
Tensor scatter_update(const Tensor& inputs, const Tensor& indices, const Tensor& updates,
                      const std::string& reduction = "");

// `inputs` with `updates` in the block that starts at start_indices. Throws InvalidArgument when
// the block doesn't fit; a start given as a tensor (a vector with one number per axis) is clamped
// so that it fits.
Tensor slice_update(const Tensor& inputs, const std::vector<int64_t>& start_indices,
                    const Tensor& updates);
template <std::same_as<Tensor> Start>  // not for braced lists, which are numbers
Tensor slice_update(const Tensor& inputs, const Start& start_indices, const Tensor& updates) {
  return internal::slice_update_at(inputs, start_indices, updates);
}
// The block of `shape` that starts at start_indices, a vector with one number per axis.
template <std::same_as<Tensor> Start>
Tensor slice(const Tensor& x, const Start& start_indices, const std::vector<int64_t>& shape) {
  return internal::slice_at(x, start_indices, shape);
}

// 1 at each of the class numbers along axis 1 (for a vector: axis 0), 0 elsewhere: (batch, n) ->
// (batch, num_classes).
Tensor multi_hot(const Tensor& x, int64_t num_classes, int64_t axis = -1,
                 DTypeLike dtype = DType::Float32);

}  // namespace cornu::ops
