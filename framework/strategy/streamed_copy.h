// SPDX-License-Identifier: Apache-2.0
// Copies that bypass the cache.
#pragma once

#include <cstddef>

namespace cornu {

// Like std::memcpy, for memory that won't be read soon: if the processor supports it, the target's
// cache lines aren't fetched first, which reduces memory traffic by a third. Other threads see the
// data after fence_streamed_copies().
void streamed_copy(void* to, const void* from, size_t bytes);
void fence_streamed_copies();

}  // namespace cornu
