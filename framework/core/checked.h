// SPDX-License-Identifier: Apache-2.0
// Arithmetic of sizes that come from a caller or a file: InvalidArgument where the result leaves
// int64, instead of a number that wrapped around.
#pragma once

#include <cstdint>
#include <string_view>

#include "framework/core/error.h"

namespace cornu {

// a * b. `who` names, in the error, whose size it is: "Conv2D 'conv'", "reshape".
inline int64_t checked_multiply(int64_t a, int64_t b, std::string_view who) {
  int64_t result = 0;
  check<InvalidArgument>(!__builtin_mul_overflow(a, b, &result),
                         "{}: expected sizes whose product fits 64 bits, got {} * {}.", who, a, b);
  return result;
}

// a + b; for a difference pass -b.
inline int64_t checked_add(int64_t a, int64_t b, std::string_view who) {
  int64_t result = 0;
  check<InvalidArgument>(!__builtin_add_overflow(a, b, &result),
                         "{}: expected sizes whose sum fits 64 bits, got {} + {}.", who, a, b);
  return result;
}

}  // namespace cornu
