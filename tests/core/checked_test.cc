// SPDX-License-Identifier: Apache-2.0
#include "framework/core/checked.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/support/errors.h"

using namespace cornu;
using test::message_of;

TEST_CASE("sizes that fit are computed, others are named") {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  CHECK(checked_multiply(1LL << 31, 1LL << 31, "x") == 1LL << 62);
  CHECK(checked_multiply(kMax, -1, "x") == -kMax);
  CHECK(checked_add(kMax, -1, "x") == kMax - 1);
  CHECK(message_of<InvalidArgument>([] { checked_multiply(1LL << 32, 1LL << 32, "reshape"); }) ==
        "reshape: expected sizes whose product fits 64 bits, got 4294967296 * 4294967296.");
  CHECK_THROWS_AS(checked_multiply(kMin, -1, "x"), InvalidArgument);
  CHECK(message_of<InvalidArgument>([] { checked_add(kMax, 1, "pool"); }) ==
        "pool: expected sizes whose sum fits 64 bits, got 9223372036854775807 + 1.");
  CHECK_THROWS_AS(checked_add(kMin, -1, "x"), InvalidArgument);
  CHECK(checked_subtract(kMin, kMin, "x") == 0);
  CHECK(message_of<InvalidArgument>([] { checked_subtract(-2, kMax, "slice"); }) ==
        "slice: expected sizes whose difference fits 64 bits, got -2 - 9223372036854775807.");
}

TEST_CASE(
    "formulas of checked sizes give what those of numbers give, or name what leaves 64 bits") {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const Checked size(7, "fold");
  CHECK((size - 1) * 3 + 2 == 20);
  CHECK(2 * size - size + size * size == 56);
  CHECK(10 - size == 3);
  CHECK(-size == -7);
  CHECK(size / 2 == 3);
  const int64_t plain = size * int64_t{2};
  CHECK(plain == 14);
  const auto refusal = [](auto formula) { return message_of<InvalidArgument>(formula); };
  CHECK(refusal([&] { size* kMax; }) ==
        "fold: expected sizes whose product fits 64 bits, got 7 * 9223372036854775807.");
  CHECK(refusal([&] { size + kMax; }) ==
        "fold: expected sizes whose sum fits 64 bits, got 7 + 9223372036854775807.");
  CHECK(refusal([&] { kMin - size; }) ==
        "fold: expected sizes whose difference fits 64 bits, got -9223372036854775808 - 7.");
  CHECK_THROWS_AS(-Checked(kMin, "fold"), InvalidArgument);
}
