// SPDX-License-Identifier: Apache-2.0
// The inner loops of attention, over a row of scores of one block.
#pragma once

#include <cstddef>

#include "framework/core/dtype.h"

namespace cornu::cpu {

template <class T>
struct AttentionRows {
  // The largest element, -infinity for none; NaN is passed over.
  T (*largest)(const T* row, size_t count);
  // row = exp(row - shift) * factor; the sum.
  T (*exponentials)(T* row, size_t count, T shift, T factor);
  T (*dot)(const T* a, const T* b, size_t count);
  // row *= factor.
  void (*scale)(T* row, size_t count, T factor);
  // gradients = probabilities * (gradients - shift) * factor.
  void (*differentiate)(const T* probabilities, T* gradients, size_t count, T shift, T factor);
};

// For float and double, on this CPU.
template <class T>
AttentionRows<T> attention_rows();

}  // namespace cornu::cpu
