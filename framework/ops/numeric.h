// SPDX-License-Identifier: Apache-2.0
// Elementwise functions composed of those in math.h (keras.ops.numpy). They broadcast, promote and
// throw in the same way; gradients are exact to any order where the function is smooth.
#pragma once

#include <optional>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// ---- one operand ----

Tensor trunc(const Tensor& x);  // towards 0; integers are unchanged
Tensor fabs(const Tensor& x);   // the result is floating-point
Tensor exp2(const Tensor& x);
Tensor cbrt(const Tensor& x);  // the real cube root, also of negative numbers
Tensor deg2rad(const Tensor& x);
Tensor rad2deg(const Tensor& x);
Tensor arcsinh(const Tensor& x);
Tensor arccosh(const Tensor& x);  // NaN below 1
Tensor arctanh(const Tensor& x);  // NaN beyond [-1, 1]
Tensor erfc(const Tensor& x);     // 1 - erf(x), also exact for large x
Tensor sinc(const Tensor& x);     // sin(pi x) / (pi x); 1 at 0
Tensor i0(const Tensor& x);       // the modified Bessel function of the first kind, order 0
Tensor signbit(const Tensor& x);  // bool: negative, including -0.0; false for NaN
Tensor isposinf(const Tensor& x);
Tensor isneginf(const Tensor& x);

struct NanToNumOptions {
  double nan = 0.0;
  std::optional<double> posinf = {};  // None: the dtype's largest number
  std::optional<double> neginf = {};  // None: its lowest number
};

// Replaces NaN and infinities in x by numbers.
Tensor nan_to_num(const Tensor& x, const NanToNumOptions& options = {});

// A cast that clamps to the range of `dtype` instead of wrapping around.
Tensor saturate_cast(const Tensor& x, DTypeLike dtype);

// ---- two operands ----

// sqrt(x1^2 + x2^2), without overflow; infinity if either is infinite, whatever the other is.
Tensor hypot(const Tensor& x1, const Tensor& x2);
Tensor logaddexp2(const Tensor& x1, const Tensor& x2);  // log2(2^x1 + 2^x2)
Tensor ldexp(const Tensor& x1, const Tensor& x2);       // x1 * 2^x2
// The remainder of the division rounded towards 0: it has the sign of x1 (mod has that of x2).
Tensor fmod(const Tensor& x1, const Tensor& x2);
// 0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0.
Tensor heaviside(const Tensor& x1, const Tensor& x2);
// The larger (smaller) one; if one is NaN, the other.
Tensor fmax(const Tensor& x1, const Tensor& x2);
Tensor fmin(const Tensor& x1, const Tensor& x2);

// The greatest common divisor and the least common multiple of integers, >= 0; for 0 and x, |x| and
// 0. No gradient.
Tensor gcd(const Tensor& x1, const Tensor& x2);
Tensor lcm(const Tensor& x1, const Tensor& x2);

struct CloseOptions {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;
};

// |x1 - x2| <= atol + rtol * |x2|, bool. Infinities of the same sign are close.
Tensor isclose(const Tensor& x1, const Tensor& x2, const CloseOptions& options = {});
// Whether all elements are close, a bool scalar.
Tensor allclose(const Tensor& x1, const Tensor& x2, const CloseOptions& options = {});

// At each position, takes the choice whose condition is the first that is true; `otherwise` if none
// is. Throws InvalidArgument unless there are as many choices as conditions, and at least one.
Tensor select(const std::vector<Tensor>& condlist, const std::vector<Tensor>& choicelist,
              const Tensor& otherwise = 0);

// ---- bitwise operations on integers; logical operations on bools ----

Tensor bitwise_and(const Tensor& x, const Tensor& y);
Tensor bitwise_or(const Tensor& x, const Tensor& y);
Tensor bitwise_xor(const Tensor& x, const Tensor& y);
Tensor bitwise_not(const Tensor& x);
Tensor bitwise_invert(const Tensor& x);
// Integers only. Shifting by more bits than there are (or by a negative number) shifts all of them
// out; a negative number shifted right keeps its sign.
Tensor left_shift(const Tensor& x, const Tensor& y);
Tensor right_shift(const Tensor& x, const Tensor& y);
Tensor bitwise_left_shift(const Tensor& x, const Tensor& y);
Tensor bitwise_right_shift(const Tensor& x, const Tensor& y);

}  // namespace cornu::ops
