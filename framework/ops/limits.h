// SPDX-License-Identifier: Apache-2.0
// Limits on how much work numeric arguments may cause on the host. Internal to ops.
#pragma once

#include <cstdint>
#include <string_view>

#include "framework/core/allocation_limit.h"
#include "framework/core/error.h"

namespace cornu::ops::internal {

// For results, or steps, that each become a node of a graph. Throws InvalidArgument above 2^20.
inline void require_few(int64_t count, std::string_view what, std::string_view who) {
  constexpr int64_t kMax = 1 << 20;
  check<InvalidArgument>(count <= kMax, "{}: expected at most {} {}, got {}.", who, kMax, what,
                         count);
}

// For a table of `count` 8-byte numbers, which is limited like a tensor (see AllocationLimit).
inline void require_table(int64_t count) {
  constexpr size_t kNumber = 8;
  constexpr auto kMax = static_cast<uint64_t>(INT64_MAX) / kNumber;
  AllocationLimit::check_bytes(count < 0 || static_cast<uint64_t>(count) > kMax
                                   ? ~size_t{0}
                                   : static_cast<size_t>(count) * kNumber);
}

}  // namespace cornu::ops::internal
