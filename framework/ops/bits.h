// SPDX-License-Identifier: Apache-2.0
// Operations on the binary representation of numbers (keras.ops.numpy).
#pragma once

#include <optional>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Reinterprets the bytes as numbers of another dtype (None: x's own); no gradient. If that dtype is
// wider or narrower, the last axis gets shorter or longer. Throws InvalidArgument if the axis isn't
// a whole number of its elements, and for bools and strings.
Tensor view(const Tensor& x, std::optional<DTypeLike> dtype = {});

// The next representable number after x1 in the direction of x2, in their common floating-point
// dtype; integers give float32. (Keras on TensorFlow finds the next float64 number, whatever the
// dtype, and rounds it.) The gradient with respect to x1 is 1.
Tensor nextafter(const Tensor& x1, const Tensor& x2);

}  // namespace cornu::ops
