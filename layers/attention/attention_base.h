// SPDX-License-Identifier: Apache-2.0
// Code shared by attention layers. Internal: included by their .cc files.
#pragma once

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

// True where a key is at or before the query's position: (1, queries, keys), bool.
inline Tensor causal_mask(int64_t queries, int64_t keys) {
  const Tensor row = ops::reshape(ops::arange(queries, DType::Int32), {1, queries, 1});
  const Tensor column = ops::reshape(ops::arange(keys, DType::Int32), {1, 1, keys});
  return ops::greater_equal(row, column);
}

// True where a key is less than `window` positions away, in either direction: (1, queries, keys),
// bool.
inline Tensor window_mask(int64_t queries, int64_t keys, int64_t window) {
  const Tensor row = ops::reshape(ops::arange(queries, DType::Int32), {1, queries, 1});
  const Tensor column = ops::reshape(ops::arange(keys, DType::Int32), {1, 1, keys});
  return ops::less(ops::abs(row - column), window);
}

// The conjunction of two masks; the other one if one is undefined.
inline Tensor both_masks(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? ops::logical_and(a, b) : a;
}

}  // namespace cornu::layers
