// SPDX-License-Identifier: Apache-2.0
// What reductions begin with.
#pragma once

#include <string>
#include <string_view>

#include "framework/core/dtype.h"

namespace cornu::cuda {

// What "SUM", "PRODUCT", "MAXIMUM" or "MINIMUM" leaves any value as it is with, as an expression of
// kernels.
std::string identity_of(std::string_view reduction, DType dtype);

}  // namespace cornu::cuda
