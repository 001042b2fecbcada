// SPDX-License-Identifier: Apache-2.0
// 16-bit floats compared with plain arithmetic; promotion; names.
#include "framework/core/dtype.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "framework/core/error.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of 16 bits by definition: `mantissa` bits of fraction, the rest exponent, and a sign.
double value_of(uint16_t bits, int mantissa) {
  const int exponent_bits = 15 - mantissa;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissa;
  const int fraction = bits & ((1 << mantissa) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? NAN : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

// Checks every 16-bit number, and the floats just below, at and just above the midpoint between it
// and its neighbor.
template <class T>
void check_rounding(int mantissa) {
  int wrong = 0;
  for (uint32_t word = 0; word < 0x10000; ++word) {
    const auto bits = static_cast<uint16_t>(word);
    T number;
    number.bits = bits;
    const double value = value_of(bits, mantissa);
    if (std::isnan(value)) {
      wrong += !std::isnan(static_cast<float>(number));
      wrong += !std::isnan(static_cast<float>(T(static_cast<float>(number))));
      continue;
    }
    wrong += static_cast<float>(number) != static_cast<float>(value);
    wrong += std::signbit(static_cast<float>(number)) != std::signbit(value);
    wrong += T(static_cast<float>(number)).bits != bits;
    if (std::isinf(value)) continue;
    // The neighbor away from zero; beyond the largest finite number, the next step replaces
    // infinity.
    const double next = value_of(static_cast<uint16_t>(bits + 1), mantissa);
    const double step = value - value_of(static_cast<uint16_t>(bits - 1), mantissa);
    const double above = std::isinf(next) ? value + step : next;
    const auto middle = static_cast<float>((value + above) / 2);
    const float outwards = std::signbit(value) ? -kInfinity : kInfinity;
    const auto even = static_cast<uint16_t>(bits & 1 ? bits + 1 : bits);
    wrong += T(middle).bits != even;
    wrong += T(std::nextafter(middle, 0.0f)).bits != bits;
    wrong += T(std::nextafter(middle, outwards)).bits != bits + 1;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("float16 rounds to the nearest, ties to even, subnormals too") {
  check_rounding<float16>(10);
}

TEST_CASE("bfloat16 rounds to the nearest, ties to even") { check_rounding<bfloat16>(7); }

TEST_CASE("16-bit floats: the ends of their ranges") {
  CHECK(float16(65504.0f).bits == 0x7bff);
  CHECK(float16(65519.99f).bits == 0x7bff);
  CHECK(float16(65520.0f).bits == 0x7c00);
  CHECK(float16(-1e30f).bits == 0xfc00);
  CHECK(float16(0x1p-24f).bits == 1);
  CHECK(float16(0x1p-25f).bits == 0);  // a tie: to even
  CHECK(float16(std::nextafter(0x1p-25f, 1.0f)).bits == 1);
  CHECK(float16(-0.0f).bits == 0x8000);
  CHECK(float16(std::numeric_limits<float>::denorm_min()).bits == 0);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(bfloat16(-kInfinity).bits == 0xff80);
  CHECK(bfloat16(-0.0f).bits == 0x8000);
  // NaN stays NaN and keeps its sign, whichever bits encode it.
  for (const uint32_t nan : {0x7f800001u, 0x7fffffffu, 0x7fc00000u}) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const auto value = std::bit_cast<float>(nan | sign);
      CHECK(std::isnan(static_cast<float>(bfloat16(value))));
      CHECK(std::isnan(static_cast<float>(float16(value))));
      CHECK((bfloat16(value).bits >> 15) == (sign >> 31));
      CHECK((float16(value).bits >> 15) == (sign >> 31));
    }
  }
}

TEST_CASE("names and properties") {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(dtype_from_string(to_string(dtype)) == dtype);
    const size_t size = dispatch_dtype(dtype, [](auto value) { return sizeof(value); });
    CHECK(size_of(dtype) == size);
    const bool same = dispatch_dtype(dtype, [&](auto v) { return dtype_of<decltype(v)> == dtype; });
    CHECK(same);
    CHECK_FALSE((is_floating(dtype) && is_integer(dtype)));
    CHECK(is_half(dtype) == (is_floating(dtype) && size_of(dtype) == 2));
  }
  CHECK(is_signed(DType::Int8));
  CHECK(is_signed(DType::BFloat16));
  CHECK_FALSE(is_signed(DType::UInt64));
  CHECK_FALSE(is_integer(DType::Bool));
  CHECK(fmt::format("{}", DType::BFloat16) == "bfloat16");
  const std::string error = error_of([] { dtype_from_string("flaot32"); });
  CHECK(error.starts_with("InvalidArgument: Unknown dtype 'flaot32'. Did you mean 'float32'?"));
}

TEST_CASE("promotion is Keras's") {
  const auto check = [](DType a, DType b, DType expected) {
    CAPTURE(to_string(a));
    CAPTURE(to_string(b));
    CHECK(promote(a, b) == expected);
    CHECK(promote(b, a) == expected);
  };
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    check(dtype, dtype, dtype);
    check(dtype, DType::Bool, dtype);
    if (!is_floating(dtype)) check(dtype, DType::Float16, DType::Float16);
    check(dtype, DType::Float64, DType::Float64);
  }
  check(DType::Float16, DType::BFloat16, DType::Float32);
  check(DType::BFloat16, DType::Float32, DType::Float32);
  check(DType::Int64, DType::BFloat16, DType::BFloat16);
  check(DType::Int8, DType::Int32, DType::Int32);
  check(DType::UInt8, DType::Int32, DType::Int32);
  check(DType::UInt32, DType::Int32, DType::Int64);
  check(DType::UInt32, DType::Int64, DType::Int64);
  check(DType::UInt8, DType::UInt64, DType::UInt64);
  check(DType::UInt64, DType::Int8, DType::Float32);
}

TEST_CASE("dtypes compare with names") {
  CHECK(DType::Float32 == "float32");
  CHECK(DType::Int8 != "float32");
  CHECK_THROWS_AS((void)(DType::Int8 == "flaot32"), InvalidArgument);
}
