// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/math.h"

#include <cmath>
#include <numbers>

#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/numeric.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// A function of real numbers.
template <OpName kName>
Tensor real(const Tensor& x) {
  require_defined(x, kName.text);
  return call<kName>({to_floating(x)});
}

// A function of any numbers; bools count as 0 and 1.
template <OpName kName>
Tensor numeric(const Tensor& x) {
  require_defined(x, kName.text);
  return call<kName>({x.dtype() == DType::Bool ? cast(x, DType::Int32) : x});
}

// An op on two operands in their common dtype.
template <OpName kName>
Tensor comparison(const Tensor& x1, const Tensor& x2) {
  const auto [a, b] = unify(x1, x2, kName.text);
  return call<kName>({a, b});
}

// The operands of arithmetic, in their common dtype; bools count as 0 and 1.
std::pair<Tensor, Tensor> unified_numbers(const Tensor& x1, const Tensor& x2,
                                          std::string_view who) {
  const auto [a, b] = unify(x1, x2, who);
  if (a.dtype() == DType::Bool) return {cast(a, DType::Int32), cast(b, DType::Int32)};
  return {a, b};
}

template <OpName kName>
Tensor arithmetic(const Tensor& x1, const Tensor& x2) {
  const auto [a, b] = unified_numbers(x1, x2, kName.text);
  return call<kName>({a, b});
}

template <OpName kName>
Tensor real_arithmetic(const Tensor& x1, const Tensor& x2) {
  const auto [a, b] = unified_reals(x1, x2, kName.text);
  return call<kName>({a, b});
}

template <OpName kName>
Tensor logical(const Tensor& x1, const Tensor& x2) {
  require_defined(x1, kName.text);
  require_defined(x2, kName.text);
  return call<kName>({cast(x1, DType::Bool), cast(x2, DType::Bool)});
}

}  // namespace

Tensor cast(const Tensor& x, DTypeLike dtype) {
  if (x.dtype() == dtype) return x.strong();
  if (x.is_weak()) return converted_scalar(x, dtype);
  return call<"cast">({x}, {{"dtype", DType(dtype)}});
}

Tensor negative(const Tensor& x) { return numeric<"negate">(x); }
Tensor abs(const Tensor& x) {
  return x.defined() && x.dtype() == DType::Bool ? x.strong() : numeric<"abs">(x);
}
Tensor absolute(const Tensor& x) { return abs(x); }
Tensor sign(const Tensor& x) { return numeric<"sign">(x); }
Tensor square(const Tensor& x) { return numeric<"square">(x); }
Tensor round(const Tensor& x) { return is_floating(x.dtype()) ? call<"round">({x}) : x.strong(); }
Tensor round(const Tensor& x, int64_t decimals) {
  const bool floating = is_floating(x.dtype());
  if (decimals == 0 || (decimals > 0 && !floating)) return round(x);
  const Tensor factor(std::pow(10.0, static_cast<double>(decimals)));
  return cast(round((floating ? x : cast(x, DType::Float32)) * factor) / factor, x.dtype());
}
Tensor reciprocal(const Tensor& x) { return real<"reciprocal">(x); }
Tensor exp(const Tensor& x) { return real<"exp">(x); }
Tensor expm1(const Tensor& x) { return real<"expm1">(x); }
Tensor log(const Tensor& x) { return real<"log">(x); }
Tensor log1p(const Tensor& x) { return real<"log1p">(x); }
Tensor log2(const Tensor& x) {
  const ErrorPlace scope("log2");
  return log(x) / std::numbers::ln2;
}
Tensor log10(const Tensor& x) {
  const ErrorPlace scope("log10");
  return log(x) / std::numbers::ln10;
}
Tensor sqrt(const Tensor& x) { return real<"sqrt">(x); }
Tensor rsqrt(const Tensor& x) { return real<"rsqrt">(x); }
Tensor sin(const Tensor& x) { return real<"sin">(x); }
Tensor cos(const Tensor& x) { return real<"cos">(x); }
Tensor tan(const Tensor& x) { return real<"tan">(x); }
Tensor arcsin(const Tensor& x) { return real<"asin">(x); }
Tensor arccos(const Tensor& x) { return real<"acos">(x); }
Tensor arctan(const Tensor& x) { return real<"atan">(x); }
Tensor sinh(const Tensor& x) { return real<"sinh">(x); }
Tensor cosh(const Tensor& x) { return real<"cosh">(x); }
Tensor tanh(const Tensor& x) { return real<"tanh">(x); }
Tensor erf(const Tensor& x) { return real<"erf">(x); }
Tensor erfinv(const Tensor& x) { return real<"erf_inv">(x); }
Tensor floor(const Tensor& x) { return real<"floor">(x); }
Tensor ceil(const Tensor& x) { return real<"ceil">(x); }
Tensor isnan(const Tensor& x) { return real<"is_nan">(x); }
Tensor isinf(const Tensor& x) { return real<"is_inf">(x); }
Tensor isfinite(const Tensor& x) { return real<"is_finite">(x); }
Tensor logical_not(const Tensor& x) {
  const ErrorPlace scope("logical_not");
  return call<"logical_not">({cast(x, DType::Bool)});
}

Tensor add(const Tensor& x1, const Tensor& x2) { return arithmetic<"add">(x1, x2); }
Tensor subtract(const Tensor& x1, const Tensor& x2) { return arithmetic<"subtract">(x1, x2); }
Tensor multiply(const Tensor& x1, const Tensor& x2) { return arithmetic<"multiply">(x1, x2); }
Tensor divide(const Tensor& x1, const Tensor& x2) { return real_arithmetic<"divide">(x1, x2); }
Tensor true_divide(const Tensor& x1, const Tensor& x2) { return divide(x1, x2); }
Tensor floor_divide(const Tensor& x1, const Tensor& x2) {
  return arithmetic<"floor_divide">(x1, x2);
}
Tensor mod(const Tensor& x1, const Tensor& x2) { return arithmetic<"mod">(x1, x2); }
Tensor power(const Tensor& x1, const Tensor& x2) { return arithmetic<"power">(x1, x2); }
Tensor arctan2(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("arctan2");
  return real_arithmetic<"atan2">(x1, x2);
}
Tensor maximum(const Tensor& x1, const Tensor& x2) { return arithmetic<"maximum">(x1, x2); }
Tensor minimum(const Tensor& x1, const Tensor& x2) { return arithmetic<"minimum">(x1, x2); }

Tensor divide_no_nan(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("divide_no_nan");
  // The divisor is made safe first, so that the gradient has no NaN either.
  const auto [dividend, divisor] = unified_reals(x1, x2, "divide_no_nan");
  const Tensor zero = equal(divisor, 0);
  return where(zero, 0, divide(dividend, where(zero, 1, divisor)));
}

Tensor squared_difference(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("squared_difference");
  return square(subtract(x1, x2));
}

Tensor logaddexp(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("logaddexp");
  const auto [a, b] = unified_reals(x1, x2, "logaddexp");
  return at_once<"logaddexp">({a, b}, {}, [](const std::vector<Tensor>& in) {
    // The larger one is a constant for the gradient, which is then exact to any order; if it is
    // infinite, so is the result.
    const Tensor larger = call<"stop_gradient">({maximum(in[0], in[1])});
    const Tensor shift = where(isfinite(larger), larger, 0);
    return shift + log(exp(in[0] - shift) + exp(in[1] - shift));
  });
}

Tensor equal(const Tensor& x1, const Tensor& x2) { return comparison<"equal">(x1, x2); }
Tensor not_equal(const Tensor& x1, const Tensor& x2) { return comparison<"not_equal">(x1, x2); }
Tensor less(const Tensor& x1, const Tensor& x2) { return comparison<"less">(x1, x2); }
Tensor less_equal(const Tensor& x1, const Tensor& x2) { return comparison<"less_equal">(x1, x2); }
Tensor greater(const Tensor& x1, const Tensor& x2) { return comparison<"greater">(x1, x2); }
Tensor greater_equal(const Tensor& x1, const Tensor& x2) {
  return comparison<"greater_equal">(x1, x2);
}
Tensor logical_and(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("logical_and");
  return logical<"logical_and">(x1, x2);
}
Tensor logical_or(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("logical_or");
  return logical<"logical_or">(x1, x2);
}
Tensor logical_xor(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("logical_xor");
  return logical<"logical_xor">(x1, x2);
}

Tensor where(const Tensor& condition, const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("where");
  const auto [a, b] = unify(x1, x2, "where");
  return call<"select">({cast(condition, DType::Bool), a, b});
}

Tensor clip(const Tensor& x, const Tensor& x_min, const Tensor& x_max) {
  const ErrorPlace scope("clip");
  const auto clipped = [](const Tensor& v, const Tensor& low, const Tensor& high) {
    return minimum(maximum(v, low), high);
  };
  if (!goes_at_once({x})) return clipped(x, x_min, x_max);  // a model's bounds stay numbers
  const auto [raised, low] = unified_numbers(x, x_min, "maximum");
  const auto [v, high] = unified_numbers(raised, x_max, "minimum");
  return at_once<"clip">({v, cast(low, v.dtype()), high}, {}, [&](const std::vector<Tensor>& in) {
    return clipped(in[0], in[1], in[2]);
  });
}

}  // namespace cornu::ops

namespace cornu {
namespace {

void require_bits(const Tensor& x, const char* who, const char* advice) {
  ops::internal::require_defined(x, who);
  check<InvalidArgument>(!is_floating(x.dtype()),
                         "{}: expected bools or integers, got {} of shape {}. {}", who, x.dtype(),
                         x.shape(), advice);
}

constexpr const char* kCompare = "Compare first, as in `(x > 0) & (y > 0)`.";

}  // namespace

Tensor operator~(const Tensor& x) {
  require_bits(x, "operator ~", kCompare);
  return ops::bitwise_not(x);
}

Tensor operator&(const Tensor& x1, const Tensor& x2) {
  for (const Tensor* x : {&x1, &x2}) require_bits(*x, "operator &", kCompare);
  return ops::bitwise_and(x1, x2);
}

Tensor operator|(const Tensor& x1, const Tensor& x2) {
  for (const Tensor* x : {&x1, &x2}) require_bits(*x, "operator |", kCompare);
  return ops::bitwise_or(x1, x2);
}

Tensor operator^(const Tensor& x1, const Tensor& x2) {
  for (const Tensor* x : {&x1, &x2}) {
    require_bits(*x, "operator ^", "It is the exclusive or; for powers call ops::power(x, y).");
  }
  return ops::bitwise_xor(x1, x2);
}

}  // namespace cornu
