// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/core/tensor.h"

namespace cornu {

// Returns zeros on the host, created without running an op.
Tensor host_zeros(const Shape& shape, DType dtype);

}  // namespace cornu
