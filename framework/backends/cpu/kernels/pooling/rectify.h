// SPDX-License-Identifier: Apache-2.0
// relu in place, for results that are still in the cache. oneDNN's own relu turns NaN into 0.
#pragma once

#include <cstdint>

#include "framework/core/dtype.h"

namespace cornu::cpu {

// Applies relu to `rows` rows of `columns` float32 or bfloat16 numbers, with `step` elements from
// one row to the next.
using Rectify = void (*)(void* data, int64_t rows, int64_t columns, int64_t step);
Rectify simd_rectify(DType dtype);

}  // namespace cornu::cpu
