// SPDX-License-Identifier: Apache-2.0
// Running products and recurrences along an axis, composed of other ops. Internal to framework/ops.
#pragma once

#include <cstdint>

#include "framework/core/tensor.h"

namespace cornu::ops::internal {

// x moved by `by` places towards the end, or the front, of an axis; `fill`, or zeros, come in
// behind it. The size remains.
Tensor moved_back(const Tensor& x, int64_t axis, int64_t by, double fill);
Tensor moved_forward(const Tensor& x, int64_t axis, int64_t by);

// The products of all elements up to each one along an axis, by doubling: log2(size) passes.
Tensor products_by_doubling(const Tensor& x, int64_t axis);
// The same in as much time as a few passes take.
Tensor running_products(const Tensor& x, int64_t axis);

// s[i] = added[i] + factors[i] s[i + 1] along an axis, with 0 behind the last one; takes as long as
// running_products.
Tensor backward_recurrence(const Tensor& factors, const Tensor& added, int64_t axis);

}  // namespace cornu::ops::internal
