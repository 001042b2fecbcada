// SPDX-License-Identifier: Apache-2.0
// Elementwise functions that are written in those of math.h (keras.ops.numpy). They broadcast,
// promote and fail as those do; gradients are exact to any order where the function is smooth.
#pragma once

#include <optional>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// ---- one operand ----

Tensor trunc(const Tensor& x);  // towards 0; integers stay
Tensor fabs(const Tensor& x);   // of a floating-point dtype
Tensor exp2(const Tensor& x);
Tensor cbrt(const Tensor& x);  // the real cubic root, also of negative numbers
Tensor deg2rad(const Tensor& x);
Tensor rad2deg(const Tensor& x);
Tensor arcsinh(const Tensor& x);
Tensor arccosh(const Tensor& x);  // NaN below 1
Tensor arctanh(const Tensor& x);  // NaN beyond [-1, 1]
Tensor erfc(const Tensor& x);     // 1 - erf(x), exact for large x too
Tensor sinc(const Tensor& x);     // sin(pi x) / (pi x); 1 at 0
Tensor i0(const Tensor& x);       // the modified Bessel function of the first kind, order 0
Tensor signbit(const Tensor& x);  // bool: negative, -0.0 included; false of NaN
Tensor isposinf(const Tensor& x);
Tensor isneginf(const Tensor& x);

struct NanToNumOptions {
  double nan = 0.0;
  std::optional<double> posinf = {};  // None: the dtype's largest number
  std::optional<double> neginf = {};  // None: its lowest
};

// x with numbers in place of NaN and infinities.
Tensor nan_to_num(const Tensor& x, const NanToNumOptions& options = {});

// A cast that gives the nearest number `dtype` has instead of wrapping around.
Tensor saturate_cast(const Tensor& x, DTypeLike dtype);

// ---- two operands ----

// sqrt(x1^2 + x2^2), without overflow; infinity where one of them is infinite, whatever the other.
Tensor hypot(const Tensor& x1, const Tensor& x2);
Tensor logaddexp2(const Tensor& x1, const Tensor& x2);  // log2(2^x1 + 2^x2)
Tensor ldexp(const Tensor& x1, const Tensor& x2);       // x1 * 2^x2
// The rest of the division rounded towards 0: it has x1's sign (mod has x2's).
Tensor fmod(const Tensor& x1, const Tensor& x2);
// 0 where x1 < 0, 1 where x1 > 0, x2 where it is 0.
Tensor heaviside(const Tensor& x1, const Tensor& x2);
// The larger (smaller) one; where one is NaN, the other.
Tensor fmax(const Tensor& x1, const Tensor& x2);
Tensor fmin(const Tensor& x1, const Tensor& x2);

// The greatest common divisor and the least common multiple of integers, >= 0; of 0 and x, |x| and
// 0. No gradient.
Tensor gcd(const Tensor& x1, const Tensor& x2);
Tensor lcm(const Tensor& x1, const Tensor& x2);

struct CloseOptions {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;
};

// |x1 - x2| <= atol + rtol * |x2|, bool. Infinities of one sign are close.
Tensor isclose(const Tensor& x1, const Tensor& x2, const CloseOptions& options = {});
// Are all elements close? A bool scalar.
Tensor allclose(const Tensor& x1, const Tensor& x2, const CloseOptions& options = {});

// Of each place, the choice whose condition is the first that holds there; `otherwise` where none
// does. InvalidArgument unless there are as many choices as conditions, one at least.
Tensor select(const std::vector<Tensor>& condlist, const std::vector<Tensor>& choicelist,
              const Tensor& otherwise = 0);

// ---- bits of integers; of bools, the logical operations ----

Tensor bitwise_and(const Tensor& x, const Tensor& y);
Tensor bitwise_or(const Tensor& x, const Tensor& y);
Tensor bitwise_xor(const Tensor& x, const Tensor& y);
Tensor bitwise_not(const Tensor& x);
Tensor bitwise_invert(const Tensor& x);
// Integers only. By more bits than there are (or fewer than 0), all of them are shifted out; a
// negative number shifted right keeps its sign.
Tensor left_shift(const Tensor& x, const Tensor& y);
Tensor right_shift(const Tensor& x, const Tensor& y);
Tensor bitwise_left_shift(const Tensor& x, const Tensor& y);
Tensor bitwise_right_shift(const Tensor& x, const Tensor& y);

}  // namespace cornu::ops
