// SPDX-License-Identifier: Apache-2.0
// Numbers as the bits that they consist of (keras.ops.numpy).
#pragma once

#include <optional>

#include "framework/core/tensor.h"

namespace cornu::ops {

// The same bytes as numbers of another dtype (None: x's own), without a gradient. Where that is
// wider or narrower, the last axis is shorter or longer; InvalidArgument when it has no whole
// number of them, and for bools and strings.
Tensor view(const Tensor& x, std::optional<DTypeLike> dtype = {});

// The next number after x1 in the direction of x2, in the floating-point dtype that they have in
// common; integers give float32. (On TensorFlow, Keras finds float64's next number, whatever the
// dtype, and rounds it.) The gradient of x1 is 1.
Tensor nextafter(const Tensor& x1, const Tensor& x2);

}  // namespace cornu::ops
