// SPDX-License-Identifier: Apache-2.0
// solve() within other ops.
#pragma once

#include <string>

#include "framework/core/tensor.h"

namespace cornu::ops::internal {

// The same as solve(a, b); errors, also of matrices without an inverse, begin with `who`.
Tensor solve_for(const std::string& who, const Tensor& a, const Tensor& b);

}  // namespace cornu::ops::internal
