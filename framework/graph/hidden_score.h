// SPDX-License-Identifier: Apache-2.0
// The attention score that replaces a score hidden by a mask.
#pragma once

#include "framework/core/dtype.h"

namespace cornu {

// Below all other scores, and far enough from -infinity for subtractions.
inline double hidden_score(DType dtype) {
  return -0.7 * (dtype == DType::Float64   ? 1.7976931348623157e308
                 : dtype == DType::Float16 ? 65504
                                           : 3.38e38);
}

}  // namespace cornu
