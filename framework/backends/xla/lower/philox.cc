// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/lower/philox.h"

namespace cornu::xla {
namespace {

// The halves of 64-bit numbers.
Value low_half(Writer& to, const Value& x) { return convert(to, x, DType::UInt32); }
Value high_half(Writer& to, const Value& x) {
  return convert(to, binary(to, "shift_right_logical", x, splat_int(to, 32, x.type)),
                 DType::UInt32);
}

}  // namespace

Words philox(Writer& to, const Key& key, const Value& counter, const Value& stream) {
  Words c = {low_half(to, counter), high_half(to, counter), low_half(to, stream),
             high_half(to, stream)};
  Value k0 = key.low;
  Value k1 = key.high;
  const auto product = [&](const Value& word, uint32_t factor) {
    const Value wide = convert(to, word, DType::UInt64);
    return multiply(to, wide, splat_int(to, factor, wide.type));
  };
  const auto mixed = [&](const Value& a, const Value& b, const Value& k) {
    return binary(to, "xor", binary(to, "xor", a, b), k);
  };
  for (int round = 0; round < 10; ++round) {
    const Value p0 = product(c[0], 0xD2511F53u);
    const Value p1 = product(c[2], 0xCD9E8D57u);
    c = {mixed(high_half(to, p1), c[1], k0), low_half(to, p1), mixed(high_half(to, p0), c[3], k1),
         low_half(to, p0)};
    k0 = add(to, k0, splat_int(to, 0x9E3779B9u, k0.type));
    k1 = add(to, k1, splat_int(to, 0xBB67AE85u, k1.type));
  }
  return c;
}

Value unit_double(Writer& to, const Value& high, const Value& low) {
  const Value wide = convert(to, high, DType::UInt64);
  const Value bits = either(to, binary(to, "shift_left", wide, splat_int(to, 32, wide.type)),
                            convert(to, low, DType::UInt64));
  const Value kept = binary(to, "shift_right_logical", bits, splat_int(to, 11, bits.type));
  const Value number = convert(to, kept, DType::Float64);
  return multiply(to, number, like(to, 0x1p-53, number));
}

}  // namespace cornu::xla
