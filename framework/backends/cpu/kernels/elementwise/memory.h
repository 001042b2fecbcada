// SPDX-License-Identifier: Apache-2.0
// Working memory of kernels' threads.
#pragma once

#include <cstddef>

namespace cornu::cpu {

// At least `bytes` bytes of the calling thread's own, aligned to 64, until its next call. Allocates
// only when a thread needs more than ever before.
std::byte* thread_memory(size_t bytes);

constexpr size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace cornu::cpu
