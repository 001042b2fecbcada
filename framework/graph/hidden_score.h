// SPDX-License-Identifier: Apache-2.0
// What stands for a score of attention that a mask hides.
#pragma once

#include "framework/core/dtype.h"

namespace cornu {

// Below all others, and far enough from -infinity to be subtracted from.
inline double hidden_score(DType dtype) {
  return -0.7 * (dtype == DType::Float64   ? 1.7976931348623157e308
                 : dtype == DType::Float16 ? 65504
                                           : 3.38e38);
}

}  // namespace cornu
