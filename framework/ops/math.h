// SPDX-License-Identifier: Apache-2.0
// Elementwise operations. Binary ones broadcast by NumPy's rules and promote dtypes; inherently
// real-valued functions (exp, sqrt, divide, …) convert integers to float32 first. They throw
// InvalidArgument when shapes don't broadcast or a dtype isn't supported.
#pragma once

#include "framework/core/tensor.h"

namespace cornu {
namespace ops {

// ---- dtype ----

// Casting float to integer truncates; anything to bool is != 0. Returns the same handle if nothing
// changes.
Tensor cast(const Tensor& x, DTypeLike dtype);

// ---- one operand ----

Tensor negative(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor absolute(const Tensor& x);
Tensor sign(const Tensor& x);  // -1, 0 or 1; NaN for NaN
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor arcsin(const Tensor& x);
Tensor arccos(const Tensor& x);
Tensor arctan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor erfinv(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);                    // half to even
Tensor round(const Tensor& x, int64_t decimals);  // < 0: to tens, hundreds, …

Tensor isnan(const Tensor& x);     // bool
Tensor isinf(const Tensor& x);     // bool
Tensor isfinite(const Tensor& x);  // bool
Tensor logical_not(const Tensor& x);

// ---- two operands ----

Tensor add(const Tensor& x1, const Tensor& x2);
Tensor subtract(const Tensor& x1, const Tensor& x2);
Tensor multiply(const Tensor& x1, const Tensor& x2);
Tensor divide(const Tensor& x1, const Tensor& x2);
Tensor true_divide(const Tensor& x1, const Tensor& x2);
// x1 / x2, 0 where x2 is 0.
Tensor divide_no_nan(const Tensor& x1, const Tensor& x2);
Tensor floor_divide(const Tensor& x1, const Tensor& x2);  // integers: 0 where x2 is 0
Tensor mod(const Tensor& x1, const Tensor& x2);  // has the sign of x2; integers: likewise 0
Tensor power(const Tensor& x1, const Tensor& x2);
Tensor arctan2(const Tensor& x1, const Tensor& x2);
Tensor maximum(const Tensor& x1, const Tensor& x2);  // NaN if either is NaN
Tensor minimum(const Tensor& x1, const Tensor& x2);
Tensor squared_difference(const Tensor& x1, const Tensor& x2);
// log(exp(x1) + exp(x2)), without overflow.
Tensor logaddexp(const Tensor& x1, const Tensor& x2);

// Comparisons and logical operations return bool; logical operands are first cast to bool (!= 0).
// Strings can be compared, too (outside of traces).
Tensor equal(const Tensor& x1, const Tensor& x2);
Tensor not_equal(const Tensor& x1, const Tensor& x2);
Tensor less(const Tensor& x1, const Tensor& x2);
Tensor less_equal(const Tensor& x1, const Tensor& x2);
Tensor greater(const Tensor& x1, const Tensor& x2);
Tensor greater_equal(const Tensor& x1, const Tensor& x2);
Tensor logical_and(const Tensor& x1, const Tensor& x2);
Tensor logical_or(const Tensor& x1, const Tensor& x2);
Tensor logical_xor(const Tensor& x1, const Tensor& x2);

// ---- three operands ----

// x1 where `condition` (cast to bool) holds, else x2; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& x1, const Tensor& x2);
// min(max(x, x_min), x_max). The gradient is 1 at the bounds and 0 beyond.
Tensor clip(const Tensor& x, const Tensor& x_min, const Tensor& x_max);

}  // namespace ops

// Operators on tensors, variables and C++ scalars, as in NumPy: comparisons, including == and !=,
// return bool tensors (`a == b` doesn't compare the identity of handles: see Tensor::id).
// & | ^ ~ are logical for bools and bitwise for integers; they throw InvalidArgument for floats.
// `^` isn't the power operator.
inline Tensor operator+(const Tensor& x) { return x; }
inline Tensor operator-(const Tensor& x) { return ops::negative(x); }
inline Tensor operator!(const Tensor& x) { return ops::logical_not(x); }
inline Tensor operator+(const Tensor& x1, const Tensor& x2) { return ops::add(x1, x2); }
inline Tensor operator-(const Tensor& x1, const Tensor& x2) { return ops::subtract(x1, x2); }
inline Tensor operator*(const Tensor& x1, const Tensor& x2) { return ops::multiply(x1, x2); }
inline Tensor operator/(const Tensor& x1, const Tensor& x2) { return ops::divide(x1, x2); }
inline Tensor operator%(const Tensor& x1, const Tensor& x2) { return ops::mod(x1, x2); }
inline Tensor operator==(const Tensor& x1, const Tensor& x2) { return ops::equal(x1, x2); }
inline Tensor operator!=(const Tensor& x1, const Tensor& x2) { return ops::not_equal(x1, x2); }
inline Tensor operator<(const Tensor& x1, const Tensor& x2) { return ops::less(x1, x2); }
inline Tensor operator>(const Tensor& x1, const Tensor& x2) { return ops::greater(x1, x2); }
inline Tensor operator<=(const Tensor& x1, const Tensor& x2) { return ops::less_equal(x1, x2); }
inline Tensor operator>=(const Tensor& x1, const Tensor& x2) { return ops::greater_equal(x1, x2); }
Tensor operator~(const Tensor& x);
Tensor operator&(const Tensor& x1, const Tensor& x2);
Tensor operator|(const Tensor& x1, const Tensor& x2);
Tensor operator^(const Tensor& x1, const Tensor& x2);
inline Tensor& operator+=(Tensor& x1, const Tensor& x2) { return x1 = ops::add(x1, x2); }
inline Tensor& operator-=(Tensor& x1, const Tensor& x2) { return x1 = ops::subtract(x1, x2); }
inline Tensor& operator*=(Tensor& x1, const Tensor& x2) { return x1 = ops::multiply(x1, x2); }
inline Tensor& operator/=(Tensor& x1, const Tensor& x2) { return x1 = ops::divide(x1, x2); }
inline Tensor& operator%=(Tensor& x1, const Tensor& x2) { return x1 = ops::mod(x1, x2); }
inline Tensor& operator&=(Tensor& x1, const Tensor& x2) { return x1 = x1 & x2; }
inline Tensor& operator|=(Tensor& x1, const Tensor& x2) { return x1 = x1 | x2; }
inline Tensor& operator^=(Tensor& x1, const Tensor& x2) { return x1 = x1 ^ x2; }

}  // namespace cornu
