// SPDX-License-Identifier: Apache-2.0
// Reductions and scans. `axis`: one, several, or none for all; `keepdims` keeps them with size 1.
// For no elements, sum is 0, prod 1, max the lowest and min the highest value of the dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// bool and int8 are summed as int32, uint8 as uint32 (Keras's rule); other dtypes are unchanged.
Tensor sum(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor prod(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// The product of the elements, converted to `dtype` first.
Tensor prod(const Tensor& x, const Axes& axis, bool keepdims, DTypeLike dtype);
// Throw InvalidArgument when there are no elements to choose from.
Tensor max(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor min(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// `initial` takes part in the comparison, and is the result if there are no elements.
Tensor max(const Tensor& x, const Axes& axis, bool keepdims, const Tensor& initial);
Tensor min(const Tensor& x, const Axes& axis, bool keepdims, const Tensor& initial);
Tensor amax(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // max
Tensor amin(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // min
// For integers the result is float32; float16 and bfloat16 are computed in float32.
Tensor mean(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor var(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // of the population
Tensor std(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
Tensor any(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // bool
Tensor all(const Tensor& x, const Axes& axis = {}, bool keepdims = false);  // bool
// log(sum(exp(x))), without overflow.
Tensor logsumexp(const Tensor& x, const Axes& axis = {}, bool keepdims = false);
// The number of non-zero elements, int32.
Tensor count_nonzero(const Tensor& x, const Axes& axis = {});

// The index of the first largest (smallest) element, int32; without an axis, in the flattened x.
Tensor argmax(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);

struct CumsumOptions {
  bool exclusive = false;               // don't include the element itself
  bool reverse = false;                 // from the end
  std::optional<DTypeLike> dtype = {};  // of the sums; None: x's
};

// Running sums along `axis`; without one, of the flattened x.
Tensor cumsum(const Tensor& x, std::optional<int64_t> axis = {}, const CumsumOptions& options = {});

// The indices that sort the elements along `axis` (None: of the flattened x), int32; stable.
Tensor argsort(const Tensor& x, std::optional<int64_t> axis = -1, bool descending = false);
// Indices of an order in which no element before (after) position kth is larger (smaller) than the
// one there; int32. Implemented as argsort.
Tensor argpartition(const Tensor& x, int64_t kth, std::optional<int64_t> axis = -1);
Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false);
// The k largest elements of the last axis, largest first, and their indices (int32).
std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k);

// Sums x over the axes along which broadcasting `shape` to x's shape repeats elements: this is how
// gradients are unbroadcast. Returns x itself if its shape is already `shape`.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace cornu::ops
