// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

struct MatmulOptions {
  bool transpose_x1 = false;  // swap the last two axes before the product
  bool transpose_x2 = false;
};

// (..., m, k) x (..., k, n) -> (..., m, n); leading axes broadcast. An operand of rank 1 is a row
// on the left and a column on the right, and its axis is removed from the result. Dtypes promote,
// and int8 gives int32 (Keras's rule: dot, tensordot, inner and vdot stay int8). Throws
// InvalidArgument when the inner sizes differ.
Tensor matmul(const Tensor& x1, const Tensor& x2, const MatmulOptions& options = {});

// NumPy's dot: if x2 is a vector, sums over the last axis of x1; otherwise over the last axis of x1
// and the second-to-last of x2. A scalar multiplies.
Tensor dot(const Tensor& x1, const Tensor& x2);

// Sums over the last `axes` axes of x1 and the first `axes` of x2.
Tensor tensordot(const Tensor& x1, const Tensor& x2, int64_t axes = 2);
// Sums over axes1 of x1 paired with axes2 of x2. The result has the other axes of x1, then those of
// x2.
Tensor tensordot(const Tensor& x1, const Tensor& x2, const std::vector<int64_t>& axes1,
                 const std::vector<int64_t>& axes2);

// Products of all pairs of elements: shape x1.shape + x2.shape for vectors; others are flattened.
Tensor outer(const Tensor& x1, const Tensor& x2);

}  // namespace cornu::ops
