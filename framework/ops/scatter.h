// SPDX-License-Identifier: Apache-2.0
// Writing into tensors by index: each gives a new tensor. Indices that are negative or too large
// are OutOfRange when the op runs.
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

// The largest (smallest) elements, and the products, of the slices data[i] with segment_ids[i] = s,
// for s in [0, num_segments). Of no slice: the dtype's lowest (highest) value, which is -infinity
// (infinity) of floats, and 1.
Tensor segment_max(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);
Tensor segment_min(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);
Tensor segment_prod(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);

// Zeros of `shape` with `values` added where `indices` (..., d) say: each row is a place in the
// first d axes; values has shape indices.shape[:-1] + shape[d:]. Values of one place are summed.
Tensor scatter(const Tensor& indices, const Tensor& values, const Shape& shape);

// `inputs` with `updates` at the places `indices` say (as in scatter): in place of what is there
// (of several for one place, the last one), or joined to it by `reduction`: "add", "max", "min",
// "mul".
Tensor scatter_update(const Tensor& inputs, const Tensor& indices, const Tensor& updates,
                      const std::string& reduction = "");

// `inputs` with `updates` in the block that starts at start_indices. InvalidArgument where it
// doesn't fit; a start that is a tensor (a vector of one number an axis) is moved to where it does.
Tensor slice_update(const Tensor& inputs, const std::vector<int64_t>& start_indices,
                    const Tensor& updates);
template <std::same_as<Tensor> Start>  // not for lists in braces, which are numbers
Tensor slice_update(const Tensor& inputs, const Start& start_indices, const Tensor& updates) {
  return internal::slice_update_at(inputs, start_indices, updates);
}
// The block of `shape` that starts at start_indices, a vector of one number an axis.
template <std::same_as<Tensor> Start>
Tensor slice(const Tensor& x, const Start& start_indices, const std::vector<int64_t>& shape) {
  return internal::slice_at(x, start_indices, shape);
}

// 1 at each of the class numbers along axis 1 (of a vector: axis 0), 0 elsewhere: (batch, n) ->
// (batch, num_classes).
Tensor multi_hot(const Tensor& x, int64_t num_classes, int64_t axis = -1,
                 DTypeLike dtype = DType::Float32);

}  // namespace cornu::ops
