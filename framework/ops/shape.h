// SPDX-License-Identifier: Apache-2.0
// Operations that rearrange elements, and tensors made of a rule.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// One axis of `newshape` may be -1: what is left. On a placeholder with an unknown axis that one
// must be -1. Of no rows, as a replica may get, `reshape(x, {x.dim(0), -1, 8})` has the axis that
// it has of any number of them, where NumPy refuses it.
Tensor reshape(const Tensor& x, const Shape& newshape);
// To one axis.
Tensor ravel(const Tensor& x);
// Axis i of the result is axis axes[i] of x; without axes, in reverse order.
Tensor transpose(const Tensor& x, const std::vector<int64_t>& axes = {});
Tensor swapaxes(const Tensor& x, int64_t axis1, int64_t axis2);
Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination);
Tensor expand_dims(const Tensor& x, const Axes& axis);
// Takes away axes of size 1; without `axis`, all of them.
Tensor squeeze(const Tensor& x, const Axes& axis = {});
Tensor broadcast_to(const Tensor& x, const Shape& shape);

// Dtypes promote.
Tensor concatenate(const std::vector<Tensor>& xs, int64_t axis = 0);
Tensor stack(const std::vector<Tensor>& xs, int64_t axis = 0);
// One tensor for each index of `axis`, without it.
std::vector<Tensor> unstack(const Tensor& x, int64_t axis = 0);
// Into `sections` equal parts.
std::vector<Tensor> split(const Tensor& x, int64_t sections, int64_t axis = 0);
// At these places: [0, indices[0]), [indices[0], indices[1]), …
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& indices, int64_t axis = 0);

// The elements from start_indices on, `shape` of them by axis (-1: up to the end), every strides-th
// (>= 1; none given: 1).
Tensor slice(const Tensor& x, const std::vector<int64_t>& start_indices,
             const std::vector<int64_t>& shape, const std::vector<int64_t>& strides = {});
// x[begin:end] along one axis; negative places count from its end, None is up to the end.
Tensor slice_axis(const Tensor& x, int64_t axis, int64_t begin, std::optional<int64_t> end = {});

// Adds pad_width[i] = (before, after) elements of `constant_values` to axis i.
Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pad_width,
           const Tensor& constant_values = 0);
struct PadOptions {
  // "constant"; "reflect": what lies inside, mirrored at the outermost elements, which aren't
  // repeated; "symmetric": mirrored beyond them, so that they are.
  std::string mode = "constant";
  Tensor constant_values = 0;
};
// InvalidArgument where an axis has too few elements to be mirrored.
Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pad_width,
           const PadOptions& options);
// In reverse order along `axis`; without one, all.
Tensor flip(const Tensor& x, const Axes& axis = {});
// `repeats` copies of the whole x along each axis (of the last ones where there are fewer).
Tensor tile(const Tensor& x, const std::vector<int64_t>& repeats);
// Each element `repeats` times along `axis`; without one, of the flattened x.
Tensor repeat(const Tensor& x, int64_t repeats, std::optional<int64_t> axis = {});
// Element i repeats[i] times; one number is for all.
Tensor repeat(const Tensor& x, const std::vector<int64_t>& repeats,
              std::optional<int64_t> axis = {});

Tensor zeros(const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor ones(const Shape& shape, DTypeLike dtype = DType::Float32);
// `dtype` None: float32, whatever fill_value is.
Tensor full(const Shape& shape, const Tensor& fill_value, std::optional<DTypeLike> dtype = {});
Tensor zeros_like(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor ones_like(const Tensor& x, std::optional<DTypeLike> dtype = {});
Tensor full_like(const Tensor& x, const Tensor& fill_value, std::optional<DTypeLike> dtype = {});

// start, start + step, … up to, without, stop; start is 0 when one number is given. Without a
// dtype, int32 of integers, float32 when a number is floating-point. InvalidArgument for a step of
// 0, and for numbers that make no count.
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
// The identity matrix of n rows.
Tensor eye(int64_t n, DTypeLike dtype = DType::Float32);
struct EyeOptions {
  std::optional<int64_t> m = {};  // columns; None: as many as rows
  int64_t k = 0;                  // the diagonal of ones; > 0: above the main one
  DTypeLike dtype = DType::Float32;
};
Tensor eye(int64_t n, const EyeOptions& options);

}  // namespace cornu::ops
