// SPDX-License-Identifier: Apache-2.0
// The inner loops of softmax and the cross-entropies, for float32 and float64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "framework/core/dtype.h"

namespace cornu::cpu {

// Rows of `count` elements are contiguous. Results may overwrite the logits (or targets). A row
// with NaN or infinity, or of -infinity only, becomes NaN.
struct SoftmaxFunctions {
  using Rows = void (*)(const void* logits, size_t rows, size_t count, void* out);
  Rows softmax;
  Rows log_softmax;

  // losses[i] = -sum over j of targets[i, j] * log_softmax(logits)[i, j]; terms whose target is 0
  // are 0.
  void (*cross_entropy)(const void* logits, const void* targets, size_t rows, size_t count,
                        void* losses, void* probabilities);
  // losses[i] = -log_softmax(logits)[i, labels[i]], or 0 for a negative label.
  void (*sparse_cross_entropy)(const void* logits, const int64_t* labels, size_t rows, size_t count,
                               void* losses, void* probabilities);

  // Along columns: `count` rows of `width` elements, `stride` elements apart in both arrays. `work`
  // holds 2 * width elements.
  using Columns = void (*)(const void* logits, size_t count, size_t stride, size_t width,
                           void* work, void* out);
  Columns softmax_columns;
  Columns log_softmax_columns;
};

SoftmaxFunctions softmax_functions(DType dtype);

}  // namespace cornu::cpu
