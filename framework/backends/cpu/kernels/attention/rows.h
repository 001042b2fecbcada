// SPDX-License-Identifier: Apache-2.0
// The inner loops of attention, over a row of scores of one block.
#pragma once

#include <cstddef>
#include <type_traits>

#include "framework/core/dtype.h"

namespace cornu::cpu {

// The type of computation for operands and results stored as S.
template <class S>
using Computed = std::conditional_t<std::is_same_v<S, bfloat16>, float, S>;

template <class S>
struct AttentionRows {
  using T = Computed<S>;

  // The largest element, -infinity for an empty row; NaN is skipped.
  T (*largest)(const T* row, size_t count);
  // row = exp(row - shift) * factor; returns the sum.
  T (*exponentials)(T* row, size_t count, T shift, T factor);
  T (*dot)(const S* a, const S* b, size_t count);
  // row += values.
  void (*add)(T* row, const S* values, size_t count);
  // row *= factor.
  void (*scale)(T* row, size_t count, T factor);
  // row = row * factor where it is kept, otherwise 0.
  void (*drop)(T* row, const bool* kept, size_t count, T factor);
  // gradients = probabilities * (gradients - shift) * factor.
  void (*differentiate)(const T* probabilities, T* gradients, size_t count, T shift, T factor);
  void (*store)(const T* row, size_t count, S* to);
};

// For float, double and bfloat16, on this CPU.
template <class S>
AttentionRows<S> attention_rows();

}  // namespace cornu::cpu
