// SPDX-License-Identifier: Apache-2.0
// How reductions combine values.
#pragma once

#include <string>
#include <string_view>

#include "framework/core/dtype.h"

namespace cornu::cuda {

// The text of groups.cu and join.cu after the definitions they need, for "SUM", "PRODUCT",
// "MAXIMUM" or "MINIMUM". IDENTITY is the operation's identity element.
std::string join_text(std::string_view reduction, DType dtype);

}  // namespace cornu::cuda
