// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/streamed_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace cornu {

#ifdef __SSE2__

void streamed_copy(void* to, const void* from, size_t bytes) {
  constexpr size_t kUnit = sizeof(__m128i);
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  const size_t past = reinterpret_cast<uintptr_t>(out) % kUnit;
  const size_t head = std::min(bytes, past == 0 ? 0 : kUnit - past);
  if (head > 0) std::memcpy(out, in, head);
  size_t at = head;
  for (; at + kUnit <= bytes; at += kUnit) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at)));
  }
  if (at < bytes) std::memcpy(out + at, in + at, bytes - at);
}

void fence_streamed_copies() { _mm_sfence(); }

#else

void streamed_copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void fence_streamed_copies() {}

#endif

}  // namespace cornu
