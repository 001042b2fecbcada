// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/core/tensor.h"

namespace cornu {

// Zeros on the host, made without an op.
Tensor host_zeros(const Shape& shape, DType dtype);

}  // namespace cornu
