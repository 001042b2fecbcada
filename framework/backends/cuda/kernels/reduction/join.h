// SPDX-License-Identifier: Apache-2.0
// What reductions join values with.
#pragma once

#include <string>
#include <string_view>

#include "framework/core/dtype.h"

namespace cornu::cuda {

// The text of groups.cu and join.cu after the definitions they need, for "SUM", "PRODUCT",
// "MAXIMUM" or "MINIMUM". IDENTITY leaves any value as it is.
std::string join_text(std::string_view reduction, DType dtype);

}  // namespace cornu::cuda
