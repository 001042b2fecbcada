// SPDX-License-Identifier: Apache-2.0
// How much tests do under sanitizers, where all takes many times as long.
#pragma once

#include <cstdint>

namespace cornu::testing {

#ifdef CORNU_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Of many cases that are alike, `few` under sanitizers: which threads meet is the same in them.
constexpr int64_t cases(int64_t all, int64_t few) { return kSanitized ? few : all; }

}  // namespace cornu::testing
