// SPDX-License-Identifier: Apache-2.0
// Scratch memory for each thread of a kernel.
#pragma once

#include <cstddef>

namespace cornu::cpu {

// At least `bytes` bytes that belong to the calling thread until its next call, aligned to 64.
// Allocates only when a thread needs more than ever before.
std::byte* thread_memory(size_t bytes);

constexpr size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace cornu::cpu
