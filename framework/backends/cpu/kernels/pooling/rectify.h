// SPDX-License-Identifier: Apache-2.0
// Activations in place, for results that are still in the cache. oneDNN's own relu turns NaN into
// 0.
#pragma once

#include <cstdint>
#include <string_view>

#include "framework/core/dtype.h"

namespace cornu::cpu {

enum class Activation { None, Relu, Relu6 };
// The attribute `activation` of fused ops: "", "relu" or "relu6".
Activation activation_named(std::string_view name);

// Applied to one number; NaN stays NaN.
template <class T>
T activated(Activation activation, T value) {
  if (activation == Activation::None) return value;
  if (value < 0) return 0;
  return activation == Activation::Relu6 && value > 6 ? 6 : value;
}

// Applies an activation to `rows` rows of `columns` float32 or bfloat16 numbers, with `step`
// elements from one row to the next. Null for None.
using Rectify = void (*)(void* data, int64_t rows, int64_t columns, int64_t step);
Rectify simd_rectify(DType dtype, Activation activation);

}  // namespace cornu::cpu
