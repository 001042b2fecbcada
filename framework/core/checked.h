// SPDX-License-Identifier: Apache-2.0
// Overflow-checked arithmetic on sizes that come from a caller or a file: throws InvalidArgument
// when a result doesn't fit in int64, instead of wrapping around.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "framework/core/error.h"

namespace cornu {

// Returns a * b. `who` names the owner of the size in the error message: "Conv2D 'conv'",
// "reshape".
inline int64_t checked_multiply(int64_t a, int64_t b, std::string_view who) {
  int64_t result = 0;
  check<InvalidArgument>(!__builtin_mul_overflow(a, b, &result),
                         "{}: expected sizes whose product fits 64 bits, got {} * {}.", who, a, b);
  return result;
}

// a + b.
inline int64_t checked_add(int64_t a, int64_t b, std::string_view who) {
  int64_t result = 0;
  check<InvalidArgument>(!__builtin_add_overflow(a, b, &result),
                         "{}: expected sizes whose sum fits 64 bits, got {} + {}.", who, a, b);
  return result;
}

// a - b.
inline int64_t checked_subtract(int64_t a, int64_t b, std::string_view who) {
  int64_t result = 0;
  check<InvalidArgument>(!__builtin_sub_overflow(a, b, &result),
                         "{}: expected sizes whose difference fits 64 bits, got {} - {}.", who, a,
                         b);
  return result;
}

// A size whose sums, differences and products are overflow-checked as above, so that shape formulas
// read like plain arithmetic: `Checked(height, "fold") + 2 * padding`. `who` must outlive it.
class Checked {
 public:
  Checked(int64_t value, std::string_view who) : value_(value), who_(who) {}

  int64_t value() const { return value_; }
  operator int64_t() const { return value_; }  // NOLINT: implicit on purpose

  template <std::integral T>
  friend Checked operator+(Checked a, T b) {
    return {checked_add(a.value_, b, a.who_), a.who_};
  }
  template <std::integral T>
  friend Checked operator+(T a, Checked b) {
    return {checked_add(a, b.value_, b.who_), b.who_};
  }
  friend Checked operator+(Checked a, Checked b) { return a + b.value_; }
  template <std::integral T>
  friend Checked operator-(Checked a, T b) {
    return {checked_subtract(a.value_, b, a.who_), a.who_};
  }
  template <std::integral T>
  friend Checked operator-(T a, Checked b) {
    return {checked_subtract(a, b.value_, b.who_), b.who_};
  }
  friend Checked operator-(Checked a, Checked b) { return a - b.value_; }
  template <std::integral T>
  friend Checked operator*(Checked a, T b) {
    return {checked_multiply(a.value_, b, a.who_), a.who_};
  }
  template <std::integral T>
  friend Checked operator*(T a, Checked b) {
    return {checked_multiply(a, b.value_, b.who_), b.who_};
  }
  friend Checked operator*(Checked a, Checked b) { return a * b.value_; }
  friend Checked operator-(Checked a) { return int64_t{0} - a; }

 private:
  int64_t value_;
  std::string_view who_;
};

}  // namespace cornu
