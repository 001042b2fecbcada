// SPDX-License-Identifier: Apache-2.0
// Operations that rearrange elements, and tensors created by rule.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// One axis of `newshape` may be -1: its size is inferred. For a placeholder with an unknown axis,
// that one must be -1. For zero rows, which a replica may have, `reshape(x, {x.dim(0), -1, 8})`
// infers the same axis as for any number of rows, while NumPy throws.
Tensor reshape(const Tensor& x, const Shape& newshape);
// Flattens to one axis.
Tensor ravel(const Tensor& x);
// Axis i of the result is axis axes[i] of x; without axes, the order is reversed.
Tensor transpose(const Tensor& x, const std::vector<int64_t>& axes = {});
Tensor swapaxes(const Tensor& x, int64_t axis1, int64_t axis2);
Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination);
Tensor expand_dims(const Tensor& x, const Axes& axis);
// Removes axes of size 1; without `axis`, all of them.
Tensor squeeze(const Tensor& x, const Axes& axis = {});
Tensor broadcast_to(const Tensor& x, const Shape& shape);

// Dtypes promote.
Tensor concatenate(const std::vector<Tensor>& xs, int64_t axis = 0);
Tensor stack(const std::vector<Tensor>& xs, int64_t axis = 0);
// Returns one tensor for each index of `axis`, without that axis.
std::vector<Tensor> unstack(const Tensor& x, int64_t axis = 0);
// Splits into `sections` equal parts.
std::vector<Tensor> split(const Tensor& x, int64_t sections, int64_t axis = 0);
// Splits at these indices: [0, indices[0]), [indices[0], indices[1]), …
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& indices, int64_t axis = 0);

// The elements from start_indices on, `shape` of them per axis (-1: up to the end), taking every
// strides-th one (>= 1; default: 1).
Tensor slice(const Tensor& x, const std::vector<int64_t>& start_indices,
             const std::vector<int64_t>& shape, const std::vector<int64_t>& strides = {});
// x[begin:end] along one axis; negative indices count from its end, None means up to the end.
Tensor slice_axis(const Tensor& x, int64_t axis, int64_t begin, std::optional<int64_t> end = {});

// Adds pad_width[i] = (before, after) elements of `constant_values` to axis i.
Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pad_width,
           const Tensor& constant_values = 0);
struct PadOptions {
  // "constant"; "reflect": mirrored at the outermost elements, which aren't repeated; "symmetric":
  // mirrored beyond the outermost elements, which are repeated.
  std::string mode = "constant";
  Tensor constant_values = 0;
};
// Throws InvalidArgument when an axis has too few elements to be mirrored.
Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pad_width,
           const PadOptions& options);
// Reverses the order along `axis`; without one, along all axes.
Tensor flip(const Tensor& x, const Axes& axis = {});
// `repeats` copies of the whole x along each axis (along the last ones if there are fewer numbers).
Tensor tile(const Tensor& x, const std::vector<int64_t>& repeats);
// Repeats each element `repeats` times along `axis`; without one, of the flattened x.
Tensor repeat(const Tensor& x, int64_t repeats, std::optional<int64_t> axis = {});
// Repeats element i repeats[i] times; a single number applies to all.
Tensor repeat(const Tensor& x, const std::vector<int64_t>& repeats,
              std::optional<int64_t> axis = {});

Tensor zeros(const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor ones(const Shape& shape, DTypeLike dtype = DType::Float32);
// `dtype` None: float32, whatever the dtype of fill_value.
Tensor full(const Shape& shape, const Tensor& fill_value, std::optional<DTypeLike> dtype = {});
Tensor zeros_like(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor ones_like(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor full_like(const Tensor& x, const Tensor& fill_value, std::optional<DTypeLike> dtype = {});

// start, start + step, … up to but excluding stop; start is 0 if a single number is given. Without
// a dtype, int32 for integers, float32 if any number is floating-point. Throws InvalidArgument for
// a step of 0, and for numbers that don't yield a valid count.
Tensor arange(int64_t start, int64_t stop, int64_t step, DTypeLike dtype);
Tensor arange(double start, double stop, double step, DTypeLike dtype);
template <class Start, class Stop, class Step = int>
requires(std::is_arithmetic_v<Start>&& std::is_arithmetic_v<Stop>&& std::is_arithmetic_v<Step>)
    Tensor arange(Start start, Stop stop, Step step = 1, std::optional<DTypeLike> dtype = {}) {
  if constexpr (std::is_integral_v<Start> && std::is_integral_v<Stop> && std::is_integral_v<Step>) {
    return arange(static_cast<int64_t>(start), static_cast<int64_t>(stop),
                  static_cast<int64_t>(step), dtype.value_or(DType::Int32));
  } else {
    return arange(static_cast<double>(start), static_cast<double>(stop), static_cast<double>(step),
                  dtype.value_or(DType::Float32));
  }
}
template <class Stop>
requires std::is_arithmetic_v<Stop> Tensor arange(Stop stop, std::optional<DTypeLike> dtype = {}) {
  return arange(Stop{0}, stop, 1, dtype);
}
// The identity matrix with n rows.
Tensor eye(int64_t n, DTypeLike dtype = DType::Float32);
struct EyeOptions {
  std::optional<int64_t> m = {};  // number of columns; None: same as rows
  int64_t k = 0;                  // which diagonal has the ones; > 0 is above the main one
  DTypeLike dtype = DType::Float32;
};
Tensor eye(int64_t n, const EyeOptions& options);

}  // namespace cornu::ops
