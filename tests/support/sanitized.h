// SPDX-License-Identifier: Apache-2.0
// Reduces the work of tests under sanitizers, where everything takes many times as long.
#pragma once

#include <cstdint>

namespace cornu::testing {

#ifdef CORNU_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// The number of cases to run of many similar ones, `few` under sanitizers: they cover the same
// interactions of threads.
constexpr int64_t cases(int64_t all, int64_t few) { return kSanitized ? few : all; }

}  // namespace cornu::testing
