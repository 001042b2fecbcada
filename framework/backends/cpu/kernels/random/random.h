// SPDX-License-Identifier: Apache-2.0
// The vectorized parts of the random kernels. All produce the same bits on every instruction set.
#pragma once

#include <cstdint>

namespace cornu::cpu {

struct SimdRandom {
  // The words of philox(key, counter) for `blocks` counters from `first`: four each.
  void (*words)(uint64_t key, uint64_t first, int64_t blocks, uint32_t* out);
  // Numbers in [0, 1) as in framework/core/random.h, from one word each (may be in place) or two.
  void (*unit_floats)(const uint32_t* words, float* out, int64_t count);
  // Whether the upper 24 bits of each word are at least `least` (<= 2^24).
  void (*masks)(const uint32_t* words, uint32_t least, bool* out, int64_t count);
  void (*unit_doubles)(const uint32_t* words, double* out, int64_t count);
  // Standard normal numbers by pairs (Box and Muller 1958); `count` is even. Words as above.
  void (*normal_floats)(const uint32_t* words, float* out, int64_t count);
  void (*normal_doubles)(const uint32_t* words, double* out, int64_t count);
};
SimdRandom simd_random();

}  // namespace cornu::cpu
