// SPDX-License-Identifier: Apache-2.0
// solve() for use within other ops.
#pragma once

#include <string>

#include "framework/core/tensor.h"

namespace cornu::ops::internal {

// Same as solve(a, b), but errors, including those for singular matrices, start with `who`.
Tensor solve_for(const std::string& who, const Tensor& a, const Tensor& b);

}  // namespace cornu::ops::internal
