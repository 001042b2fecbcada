// SPDX-License-Identifier: Apache-2.0
// Reductions and scans. `axis`: one, several, or none for all; `keepdims` leaves them with size 1.
// Of no elements, sum is 0, prod 1, max the lowest and min the highest value of the dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// bool and int8 are summed as int32, uint8 as uint32 (Keras's rule); other dtypes stay.
Tensor sum(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor prod(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// Of the elements as `dtype` has them.
Tensor prod(const Tensor& x, const Axes& axis, bool keepdims, DTypeLike dtype);
// InvalidArgument when there is nothing to choose a result from.
Tensor max(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor min(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// `initial` takes part, and is what nothing gives.
Tensor max(const Tensor& x, const Axes& axis, bool keepdims, const Tensor& initial);
Tensor min(const Tensor& x, const Axes& axis, bool keepdims, const Tensor& initial);
Tensor amax(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // max
Tensor amin(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // min
// Integers give float32; float16 and bfloat16 are computed in float32.
Tensor mean(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor var(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // of the population
Tensor std(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor any(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // bool
Tensor all(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // bool
// log(sum(exp(x))), without overflow.
Tensor logsumexp(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// How many elements are not 0, int32.
Tensor count_nonzero(const Tensor& x, const Axes& axis = {});

// The place of the first largest (smallest) element, int32; without an axis, in the flattened x.
Tensor argmax(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);

struct CumsumOptions {
  bool exclusive = false;               // an element itself isn't counted
  bool reverse = false;                 // from the end
  std::optional<DTypeLike> dtype = {};  // of the sums; None: x's
};

// Running sums along `axis`; without one, of the flattened x.
Tensor cumsum(const Tensor& x, std::optional<int64_t> axis = {}, const CumsumOptions& options = {});

// The order of the elements along `axis` (None: of the flattened x), int32; stable.
Tensor argsort(const Tensor& x, std::optional<int64_t> axis = -1, bool descending = false);
// An order in which what is before (behind) place kth is not larger (smaller) than what is there;
// int32. Here: argsort.
Tensor argpartition(const Tensor& x, int64_t kth, std::optional<int64_t> axis = -1);
Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false);
// The k largest elements of the last axis, largest first, and their places (int32).
std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k);

// Sums x over the axes that broadcasting `shape` to x's shape repeats: how gradients are
// unbroadcast. x itself when its shape is `shape` already.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace cornu::ops
