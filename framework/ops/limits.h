// SPDX-License-Identifier: Apache-2.0
// Limits on how much work numeric arguments may cause on the host. Internal to ops.
#pragma once

#include <cstdint>
#include <string_view>

#include "framework/core/error.h"
#include "framework/core/tensor.h"

namespace cornu::ops::internal {

// For results, or steps, that each become a node of a graph. Throws InvalidArgument above 2^20.
inline void require_few(int64_t count, std::string_view what, std::string_view who) {
  constexpr int64_t kMax = 1 << 20;
  check<InvalidArgument>(count <= kMax, "{}: expected at most {} {}, got {}.", who, kMax, what,
                         count);
}

// For a table of `count` 8-byte numbers, before it is filled. Throws what a tensor of that size
// would: ResourceExhausted when memory or an AllocationLimit is too small for it.
inline void require_table(int64_t count) { Tensor::empty({count}, DType::Int64); }

}  // namespace cornu::ops::internal
