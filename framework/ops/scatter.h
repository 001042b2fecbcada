// SPDX-License-Identifier: Apache-2.0
// Writing into tensors by index; each function returns a new tensor. Indices that are negative or
// too large throw OutOfRange when the op runs.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
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

// Where a block starts along one axis: a number, or an integer tensor of shape ().
class SliceStart {
 public:
  template <std::integral T>
  requires(!std::is_same_v<T, bool>) SliceStart(T number)  // NOLINT: implicit on purpose
      : value_(static_cast<int64_t>(number)) {}
  template <class T>
  requires(!std::is_arithmetic_v<T> && !std::is_same_v<T, SliceStart> &&
           std::is_convertible_v<const T&, Tensor>) SliceStart(const T& tensor)  // NOLINT
      : value_(Tensor(tensor)) {}

  const int64_t* number() const { return std::get_if<int64_t>(&value_); }
  const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }

 private:
  std::variant<int64_t, Tensor> value_;
};

// `inputs` with `updates` in the block that starts at start_indices. Throws InvalidArgument when
// the block doesn't fit; a start given as a tensor (a vector with one number per axis) is clamped
// so that it fits. In a list, each start may be a number or a tensor, which is treated accordingly:
//   cache = ops::slice_update(cache, {0, index, 0, 0}, key);
Tensor slice_update(const Tensor& inputs, const std::vector<int64_t>& start_indices,
                    const Tensor& updates);
template <std::same_as<Tensor> Start>  // not for braced lists
Tensor slice_update(const Tensor& inputs, const Start& start_indices, const Tensor& updates) {
  return internal::slice_update_at(inputs, start_indices, updates);
}
Tensor slice_update(const Tensor& inputs, std::initializer_list<SliceStart> start_indices,
                    const Tensor& updates);
// The block of `shape` that starts at start_indices: a vector with one number per axis, clamped so
// that the block fits, or a list in which each start may be a number or a tensor. In the latter, a
// size of -1 means up to the end, from a start that is a number.
template <std::same_as<Tensor> Start>
Tensor slice(const Tensor& x, const Start& start_indices, const std::vector<int64_t>& shape) {
  return internal::slice_at(x, start_indices, shape);
}
Tensor slice(const Tensor& x, std::initializer_list<SliceStart> start_indices,
             const std::vector<int64_t>& shape);

// 1 at each of the class numbers along axis 1 (for a vector: axis 0), 0 elsewhere: (batch, n) ->
// (batch, num_classes).
Tensor multi_hot(const Tensor& x, int64_t num_classes, int64_t axis = -1,
                 DTypeLike dtype = DType::Float32);

}  // namespace cornu::ops
