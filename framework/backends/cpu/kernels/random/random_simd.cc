// SPDX-License-Identifier: Apache-2.0
// Needs -ffp-contract=off (cmake/toolchain.cmake): a multiply-add fused on one instruction set and
// not on another would produce different bits.
#include <algorithm>
#include <array>
#include <numbers>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/random/random.h"
#include "framework/core/random.h"

#ifndef CORNU_RANDOM_SERIES  // once, not for each instruction set
#define CORNU_RANDOM_SERIES
namespace cornu::cpu {
namespace {

// Taylor coefficients: enough terms for double precision where the series are used.
template <size_t kTerms, class Term>
constexpr std::array<double, kTerms> coefficients(Term term) {
  std::array<double, kTerms> result{};
  for (size_t k = 0; k < kTerms; ++k) result[k] = term(static_cast<int>(k));
  return result;
}

// (-1)^k / n!
constexpr double signed_inverse_factorial(int k, int n) {
  double value = k % 2 == 0 ? 1.0 : -1.0;
  for (int i = 2; i <= n; ++i) value /= i;
  return value;
}

constexpr auto kArtanh = coefficients<12>([](int k) { return 2.0 / (2 * k + 1); });
constexpr auto kSine =
    coefficients<9>([](int k) { return signed_inverse_factorial(k, 2 * k + 1); });
constexpr auto kCosine = coefficients<10>([](int k) { return signed_inverse_factorial(k, 2 * k); });

}  // namespace
}  // namespace cornu::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/random/random_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using U64 = hn::ScalableTag<uint64_t>;
using F64 = hn::ScalableTag<double>;
using U32 = hn::Repartition<uint32_t, U64>;
using VU = hn::Vec<U64>;
using VD = hn::Vec<F64>;

// The 64-bit products of the lower halves of lanes.
HWY_INLINE VU multiply(VU a, VU b) {
  const U32 d;
  return hn::MulEven(hn::BitCast(d, a), hn::BitCast(d, b));
}

void words(uint64_t key, uint64_t first, int64_t blocks, uint32_t* out) {
  const U64 d;
  const U32 d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const VU m0 = hn::Set(d, 0xD2511F53u);
  const VU m1 = hn::Set(d, 0xCD9E8D57u);
  const VU low = hn::Set(d, 0xFFFFFFFFu);
  int64_t done = 0;
  for (; done + lanes <= blocks; done += lanes) {
    // One counter per lane; only the lower half of each lane is used.
    const VU counter = hn::Add(hn::Set(d, first + static_cast<uint64_t>(done)), hn::Iota(d, 0));
    VU c0 = counter;
    VU c1 = hn::ShiftRight<32>(counter);
    VU c2 = hn::Zero(d);
    VU c3 = hn::Zero(d);
    auto k0 = static_cast<uint32_t>(key);
    auto k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const VU p0 = multiply(c0, m0);
      const VU p1 = multiply(c2, m1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, k1));
      c1 = p1;
      c3 = p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const VU w01 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
    const VU w23 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    HWY_ALIGN uint64_t pairs[2 * hn::MaxLanes(U64())];
    hn::StoreInterleaved2(w01, w23, d, pairs);
    uint32_t* to = out + 4 * done;
    hn::StoreU(hn::BitCast(d32, hn::Load(d, pairs)), d32, to);
    hn::StoreU(hn::BitCast(d32, hn::Load(d, pairs + lanes)), d32, to + 2 * lanes);
  }
  for (; done < blocks; ++done) {
    const auto block = philox(key, first + static_cast<uint64_t>(done));
    for (size_t i = 0; i < 4; ++i) out[4 * done + static_cast<int64_t>(i)] = block[i];
  }
}

void unit_floats(const uint32_t* words, float* out, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, words + i)));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, bits), hn::Set(d, 0x1p-24f)), d, out + i);
  }
  for (; i < count; ++i) out[i] = to_unit_float(words[i]);
}

void masks(const uint32_t* words, uint32_t least, bool* out, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const auto before = hn::Set(d, static_cast<int32_t>(least) - 1);
  auto* bytes = reinterpret_cast<uint8_t*>(out);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(d, hn::ShiftRight<8>(hn::LoadU(du, words + i)));
    const auto is_kept = hn::RebindMask(du, hn::Gt(bits, before));
    hn::StoreU(hn::TruncateTo(d8, hn::IfThenElseZero(is_kept, hn::Set(du, 1))), d8, bytes + i);
  }
  for (; i < count; ++i) out[i] = (words[i] >> 8) >= least;
}

// Integers below 2^52 as doubles.
HWY_INLINE VD to_double(VU value) {
  const F64 d;
  const VU exponent = hn::Set(U64(), 0x4330000000000000u);  // 2^52
  return hn::Sub(hn::BitCast(d, hn::Or(value, exponent)), hn::Set(d, 0x1p52));
}

// (high << 21 | low >> 11) * 2^-53 of pairs of words (high, low).
HWY_INLINE VD unit_double(VU pair) {
  const F64 d;
  const VU low = hn::Set(U64(), 0xFFFFFFFFu);
  const VD high_part = hn::Mul(to_double(hn::And(pair, low)), hn::Set(d, 0x1p-32));
  const VD low_part = hn::Mul(to_double(hn::ShiftRight<43>(pair)), hn::Set(d, 0x1p-53));
  return hn::Add(high_part, low_part);
}

HWY_INLINE VU load_pairs(const uint32_t* words) {
  return hn::BitCast(U64(), hn::LoadU(U32(), words));
}

void unit_doubles(const uint32_t* words, double* out, int64_t count) {
  const F64 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(unit_double(load_pairs(words + 2 * i)), d, out + i);
  }
  for (; i < count; ++i) out[i] = to_unit_double(words[2 * i], words[2 * i + 1]);
}

// The sum of coefficients[k] x^k.
template <size_t kTerms>
HWY_INLINE VD series(VD x, const std::array<double, kTerms>& coefficients) {
  const F64 d;
  VD sum = hn::Set(d, coefficients[kTerms - 1]);
  for (size_t k = kTerms - 1; k-- > 0;) {
    sum = hn::Add(hn::Mul(sum, x), hn::Set(d, coefficients[k]));
  }
  return sum;
}

// The natural logarithm of normal numbers: log(2^e m) = e log 2 + 2 artanh((m - 1) / (m + 1)).
HWY_INLINE VD log(VD x) {
  const F64 d;
  const U64 du;
  const VU bits = hn::BitCast(du, x);
  // m in [sqrt(1/2), sqrt(2)): the exponent is extracted after a shift by that.
  const VU shift = hn::Set(du, 0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
  const VU moved = hn::Add(bits, shift);
  const VU exponent = hn::ShiftRight<52>(moved);
  const VU mantissa_bits = hn::And(moved, hn::Set(du, 0x000FFFFFFFFFFFFFu));
  const VD m = hn::BitCast(d, hn::Add(mantissa_bits, hn::Set(du, 0x3FE6A09E667F3BCDu)));
  const VD e = hn::Sub(to_double(exponent), hn::Set(d, 1023.0));
  const VD one = hn::Set(d, 1.0);
  const VD s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const VD sum = series(hn::Mul(s, s), kArtanh);
  return hn::Add(hn::Mul(e, hn::Set(d, std::numbers::ln2)), hn::Mul(s, sum));
}

// Sine and cosine of 2 pi u, u in [0, 1).
HWY_INLINE void sine_cosine(VD u, VD& sine, VD& cosine) {
  const F64 d;
  const VD turns = hn::Mul(u, hn::Set(d, 4.0));
  const VD quadrant = hn::Floor(hn::Add(turns, hn::Set(d, 0.5)));
  const VD x = hn::Mul(hn::Sub(turns, quadrant), hn::Set(d, std::numbers::pi / 2));
  const VD square = hn::Mul(x, x);
  const VD s = hn::Mul(x, series(square, kSine));
  const VD c = series(square, kCosine);
  const auto is = [&](double q) HWY_ATTR { return hn::Eq(quadrant, hn::Set(d, q)); };
  const auto swapped = hn::Or(is(1.0), is(3.0));
  sine = hn::IfThenElse(swapped, c, s);
  cosine = hn::IfThenElse(swapped, s, c);
  sine = hn::IfThenElse(hn::Or(is(2.0), is(3.0)), hn::Neg(sine), sine);
  cosine = hn::IfThenElse(hn::Or(is(1.0), is(2.0)), hn::Neg(cosine), cosine);
}

// Two normal numbers from u in (0, 1] and v in [0, 1).
HWY_INLINE void box_muller(VD u, VD v, VD& first, VD& second) {
  const F64 d;
  const VD radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), log(u)));
  VD sine;
  VD cosine;
  sine_cosine(v, sine, cosine);
  first = hn::Mul(radius, cosine);
  second = hn::Mul(radius, sine);
}

void normal_floats(const uint32_t* words, float* out, int64_t count) {
  const F64 d;
  const hn::Rebind<float, F64> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const VU low = hn::Set(U64(), 0xFFFFFFFFu);
  for (int64_t i = 0; i < count; i += 2 * lanes) {
    HWY_ALIGN uint32_t in[4 * hn::MaxLanes(F64())] = {};
    HWY_ALIGN float results[2 * hn::MaxLanes(F64())];
    const auto part = static_cast<size_t>(std::min(2 * lanes, count - i));
    std::copy_n(words + i, part, in);
    const VU pairs = load_pairs(in);
    const VD u =
        hn::Mul(hn::Add(to_double(hn::And(pairs, low)), hn::Set(d, 1.0)), hn::Set(d, 0x1p-32));
    const VD v = hn::Mul(to_double(hn::ShiftRight<32>(pairs)), hn::Set(d, 0x1p-32));
    VD first;
    VD second;
    box_muller(u, v, first, second);
    HWY_ALIGN float halves[2 * hn::MaxLanes(F64())];
    hn::Store(hn::DemoteTo(df, first), df, halves);
    hn::Store(hn::DemoteTo(df, second), df, halves + lanes);
    for (int64_t k = 0; k < lanes; ++k) {
      results[2 * k] = halves[k];
      results[2 * k + 1] = halves[lanes + k];
    }
    std::copy_n(results, part, out + i);
  }
}

void normal_doubles(const uint32_t* words, double* out, int64_t count) {
  const F64 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += 2 * lanes) {
    HWY_ALIGN double u[2 * hn::MaxLanes(F64())] = {};
    HWY_ALIGN double v[hn::MaxLanes(F64())] = {};
    const int64_t pairs = std::min(2 * lanes, count - i) / 2;
    for (int64_t k = 0; k < pairs; ++k) {
      const uint32_t* w = words + 2 * i + 4 * k;
      u[k] = to_unit_double(w[0], w[1]) + 0x1p-53;
      v[k] = to_unit_double(w[2], w[3]);
    }
    for (int64_t k = pairs; k < lanes; ++k) u[k] = 1.0;
    VD first;
    VD second;
    box_muller(hn::Load(d, u), hn::Load(d, v), first, second);
    hn::Store(first, d, u);
    hn::Store(second, d, v);
    for (int64_t k = 0; k < pairs; ++k) {
      out[i + 2 * k] = u[k];
      out[i + 2 * k + 1] = v[k];
    }
  }
}

SimdRandom functions() {
  return {words, unit_floats, masks, unit_doubles, normal_floats, normal_doubles};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(functions);

SimdRandom simd_random() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace cornu::cpu
#endif
