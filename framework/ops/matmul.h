// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

struct MatmulOptions {
  bool transpose_x1 = false;  // the last two axes, swapped before the product
  bool transpose_x2 = false;
};

// (..., m, k) x (..., k, n) -> (..., m, n); leading axes broadcast. An operand of rank 1 is a row
// on the left, a column on the right, and its axis is missing in the result. Dtypes promote,
// and int8 gives int32 (Keras's rule: dot, tensordot, inner and vdot stay int8). InvalidArgument
// when the inner sizes differ.
Tensor matmul(const Tensor& x1, const Tensor& x2, const MatmulOptions& options = {});

// NumPy's dot: of a vector with the last axis of x1, else sums over the last axis of x1 and the
// last but one of x2. A scalar multiplies.
Tensor dot(const Tensor& x1, const Tensor& x2);

// Sums over the last `axes` axes of x1 and the first `axes` of x2.
Tensor tensordot(const Tensor& x1, const Tensor& x2, int64_t axes = 2);
// Sums over axes1 of x1 paired with axes2 of x2. Result: the other axes of x1, then those of x2.
Tensor tensordot(const Tensor& x1, const Tensor& x2, const std::vector<int64_t>& axes1,
                 const std::vector<int64_t>& axes2);

// Products of all pairs of elements: shape x1.shape + x2.shape for vectors, else of the flattened.
Tensor outer(const Tensor& x1, const Tensor& x2);

}  // namespace cornu::ops
