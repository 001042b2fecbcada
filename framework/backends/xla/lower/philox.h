// SPDX-License-Identifier: Apache-2.0
// Philox (core/random.h) in StableHLO's integers.
#pragma once

#include <array>

#include "framework/backends/xla/lowering.h"

namespace cornu::xla {

using Words = std::array<Value, 4>;

// The key's two words, as vectors of length `count`.
struct Key {
  Key(Writer& to, const Value& key, int64_t count)
      : low(part(to, key, 0, count)), high(part(to, key, 1, count)) {}
  static Value part(Writer& to, const Value& key, int64_t i, int64_t count) {
    return spread(to, slice_axis(to, key, 0, i, i + 1), {count});
  }
  Value low;
  Value high;
};

// philox(key, counter, stream) for vectors of 64-bit counters and streams.
Words philox(Writer& to, const Key& key, const Value& counter, const Value& stream);

// Numbers in [0, 1) with 53 bits, from two words.
Value unit_double(Writer& to, const Value& high, const Value& low);

void register_distributions(LoweringTable& table);

}  // namespace cornu::xla
