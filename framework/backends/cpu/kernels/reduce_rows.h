// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "framework/graph/op.h"

namespace cornu::cpu {

// Whether the rows of a sparse tensor in an all_reduce may be exchanged: it is large enough for an
// exchange of how many there are. Every replica must decide this alike, whatever data it has and
// however its graph is run: the other tensors are reduced first, then these, as all_reduce_rows
// does it.
inline bool is_exchanged_by_rows(const TensorType& type) {
  constexpr size_t kMin = size_t{64} << 10;  // bytes
  return type.dtype == DType::Float32 && type.shape.rank() >= 2 && type.bytes() >= kMin;
}

}  // namespace cornu::cpu
