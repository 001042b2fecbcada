// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/numeric.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "framework/core/error_place.h"
#include "framework/ops/control.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// Beyond this, adding 1 to a square is lost in rounding, even in float64.
constexpr double kLarge = 1e9;

double highest(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return 0x1.fep127;
    case DType::Float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// log(x + sqrt(x^2 + shift)) for x >= 0, where small(x) is exact for small x. Requires at least
// float32, since kLarge is out of range for float16.
template <class F>
Tensor area(const Tensor& x, F small) {
  const Tensor large = x > kLarge;
  return where(large, log(where(large, x, 1)) + std::numbers::ln2, small(where(large, 1, x)));
}

// The result dtype of a real function of x.
DType floating_of(const Tensor& x) { return is_floating(x.dtype()) ? x.dtype() : DType::Float32; }

// Clamps integers to the bounds of T that their own dtype can represent.
template <class T>
Tensor saturated(const Tensor& x) {
  using To = std::numeric_limits<T>;
  return dispatch_dtype(x.dtype(), [&]<class From>(From) -> Tensor {
    if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool>) {
      using Own = std::numeric_limits<From>;
      const From low = std::in_range<From>(To::min()) ? static_cast<From>(To::min()) : Own::min();
      const From high = std::in_range<From>(To::max()) ? static_cast<From>(To::max()) : Own::max();
      return cast(clip(x.strong(), Tensor::scalar(low), Tensor::scalar(high)), dtype_of<T>);
    } else {
      raise<Internal>("saturate_cast: {} is no integer dtype.", x.dtype());
    }
  });
}

template <OpName kName>
Tensor bits(const Tensor& x, const Tensor& y) {
  const auto [a, b] = unify(x, y, kName.text);
  return call<kName>({a, b});
}

}  // namespace

Tensor trunc(const Tensor& x) {
  if (!is_floating(x.dtype())) return x.strong();
  return at_once<"trunc">(x, [](const Tensor& v) { return where(v < 0, ceil(v), floor(v)); });
}

Tensor fabs(const Tensor& x) { return abs(to_floating(x)); }
Tensor exp2(const Tensor& x) { return call<"exp2">({to_floating(x)}); }

Tensor cbrt(const Tensor& x) {
  const ErrorPlace scope("cbrt");
  const Tensor real = to_floating(x);
  return sign(real) * power(abs(real), 1.0 / 3);
}

Tensor deg2rad(const Tensor& x) {
  const ErrorPlace scope("deg2rad");
  return to_floating(x) * (std::numbers::pi / 180);
}
Tensor rad2deg(const Tensor& x) {
  const ErrorPlace scope("rad2deg");
  return to_floating(x) * (180 / std::numbers::pi);
}

Tensor arcsinh(const Tensor& x) {
  const ErrorPlace scope("arcsinh");
  const Tensor real = to_accumulator(x);
  const Tensor negative = real < 0;
  const Tensor result = area(where(negative, -real, real), [](const Tensor& a) {
    const Tensor squared = square(a);
    return log1p(a + squared / (sqrt(squared + 1) + 1));
  });
  return cast(where(negative, -result, result), floating_of(x));
}

Tensor arccosh(const Tensor& x) {
  const ErrorPlace scope("arccosh");
  const Tensor result = area(to_accumulator(x), [](const Tensor& a) {
    const Tensor over = a - 1;
    return log1p(over + sqrt(over) * sqrt(over + 2));  // NaN below 1
  });
  return cast(result, floating_of(x));
}

Tensor arctanh(const Tensor& x) {
  const ErrorPlace scope("arctanh");
  return at_once<"arctanh">(to_floating(x),
                            [](const Tensor& v) { return (log1p(v) - log1p(-v)) * 0.5; });
}

Tensor erfc(const Tensor& x) { return call<"erfc">({to_floating(x)}); }

Tensor sinc(const Tensor& x) {
  const ErrorPlace scope("sinc");
  const Tensor angle = to_floating(x) * std::numbers::pi;
  const Tensor zero = equal(angle, 0);
  const Tensor divisor = where(zero, 1, angle);
  return where(zero, 1, sin(divisor) / divisor);
}

Tensor signbit(const Tensor& x) {
  const ErrorPlace scope("signbit");
  if (!is_floating(x.dtype())) return less(x, 0);
  return at_once<"signbit">(x, [](const Tensor& v) {
    return logical_or(less(v, 0), logical_and(equal(v, 0), less(reciprocal(v), 0)));
  });
}

Tensor isposinf(const Tensor& x) {
  const ErrorPlace scope("isposinf");
  return logical_and(isinf(x), greater(x, 0));
}
Tensor isneginf(const Tensor& x) {
  const ErrorPlace scope("isneginf");
  return logical_and(isinf(x), less(x, 0));
}

Tensor nan_to_num(const Tensor& x, const NanToNumOptions& options) {
  if (!is_floating(x.dtype())) return x.strong();
  const double high = options.posinf.value_or(highest(x.dtype()));
  const double low = options.neginf.value_or(-highest(x.dtype()));
  return at_once<"nan_to_num">({x}, {{"nan", options.nan}, {"high", high}, {"low", low}},
                               [&](const std::vector<Tensor>& in) {
                                 const Tensor finite = where(isnan(in[0]), options.nan, in[0]);
                                 const Tensor bounded = where(isposinf(finite), high, finite);
                                 return where(isneginf(bounded), low, bounded);
                               });
}

Tensor saturate_cast(const Tensor& x, DTypeLike dtype) {
  if (is_integer(dtype) && x.dtype() != DType::Bool) {
    return dispatch_dtype(dtype, [&](auto zero) -> Tensor {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        if (is_integer(x.dtype())) return saturated<T>(x);
        // Compared as float64, in which the bounds of 64-bit integers are rounded outwards.
        const Tensor wide = cast(x, DType::Float64);
        const auto low = static_cast<double>(std::numeric_limits<T>::lowest());
        const auto high = static_cast<double>(std::numeric_limits<T>::max());
        const Tensor inside = logical_and(wide > low, wide < high);
        const Tensor least = Tensor::scalar(std::numeric_limits<T>::lowest());
        const Tensor most = Tensor::scalar(std::numeric_limits<T>::max());
        return where(inside, cast(where(inside, x, 0), dtype), where(wide >= high, most, least));
      } else {
        raise<Internal>("saturate_cast: {} is no integer dtype.", dtype);
      }
    });
  }
  if (!is_floating(dtype) || !is_floating(x.dtype()) || highest(dtype) >= highest(x.dtype())) {
    return cast(x, dtype);
  }
  return cast(clip(x, -highest(dtype), highest(dtype)), dtype);
}

Tensor hypot(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("hypot");
  const auto [a, b] = unified_reals(x1, x2, "hypot");
  return at_once<"hypot">({a, b}, {}, [](const std::vector<Tensor>& in) {
    // The scale cancels out, so it may be a constant for the gradient.
    const Tensor larger = call<"stop_gradient">({maximum(abs(in[0]), abs(in[1]))});
    const Tensor scale = where(logical_and(isfinite(larger), larger > 0), larger, 1);
    const Tensor sum = square(in[0] / scale) + square(in[1] / scale);
    const Tensor zero = equal(sum, 0);  // where a root has no gradient
    const Tensor root = where(zero, 0, scale * sqrt(where(zero, 1, sum)));
    const Tensor infinite = logical_or(isinf(in[0]), isinf(in[1]));  // even if the other is NaN
    return where(infinite, std::numeric_limits<double>::infinity(), root);
  });
}

Tensor logaddexp2(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("logaddexp2");
  const auto [a, b] = unified_reals(x1, x2, "logaddexp2");
  return logaddexp(a * std::numbers::ln2, b * std::numbers::ln2) / std::numbers::ln2;
}

Tensor ldexp(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("ldexp");
  const Tensor real = to_accumulator(x1);
  // In three steps, none of which leaves the range of the dtype if the result is within it.
  const Tensor scaled =
      at_once<"ldexp">({real, cast(x2, real.dtype())}, {}, [](const std::vector<Tensor>& in) {
        const double most = in[0].dtype() == DType::Float64 ? 3000 : 360;
        const Tensor exponent = clip(in[1], -most, most);
        const Tensor third = trunc(exponent / 3);
        const Tensor step = exp2(third);
        return in[0] * step * step * exp2(exponent - third * 2);
      });
  return cast(scaled, floating_of(x1));
}

Tensor fmod(const Tensor& x1, const Tensor& x2) {
  const auto [a, b] = unify(x1, x2, "fmod");
  if (is_floating(a.dtype())) {  // on the magnitudes, which is exact
    return at_once<"fmod">({a, b}, {}, [](const std::vector<Tensor>& in) {
      const Tensor negative = in[0] < 0;
      const Tensor rest = mod(where(negative, -in[0], in[0]), where(in[1] < 0, -in[1], in[1]));
      return where(negative, -rest, rest);
    });
  }
  const Tensor rest = mod(a, b);
  const Tensor other_sign = logical_xor(rest < 0, a < 0);
  return where(logical_and(not_equal(rest, 0), other_sign), rest - b, rest);
}

Tensor heaviside(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("heaviside");
  const auto [a, b] = unified_reals(x1, x2, "heaviside");
  return where(equal(a, 0), b, where(isnan(a), a, cast(a > 0, a.dtype())));
}

Tensor fmax(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("fmax");
  const auto [a, b] = unify(x1, x2, "fmax");
  if (!is_floating(a.dtype())) return maximum(a, b);
  return where(isnan(a), b, where(isnan(b), a, maximum(a, b)));
}

Tensor fmin(const Tensor& x1, const Tensor& x2) {
  const ErrorPlace scope("fmin");
  const auto [a, b] = unify(x1, x2, "fmin");
  if (!is_floating(a.dtype())) return minimum(a, b);
  return where(isnan(a), b, where(isnan(b), a, minimum(a, b)));
}

Tensor gcd(const Tensor& x1, const Tensor& x2) {
  auto [a, b] = unify(x1, x2, "gcd");
  check<InvalidArgument>(is_integer(a.dtype()), "gcd: expected integers, got {}.", a.dtype());
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), "gcd");
  const auto step = [](const std::vector<Tensor>& v) -> std::vector<Tensor> {
    const Tensor done = equal(v[1], 0);
    return {where(done, v[0], v[1]), where(done, 0, mod(v[0], v[1]))};
  };
  return while_loop([](const std::vector<Tensor>& v) { return any(not_equal(v[1], 0)); }, step,
                    {broadcast_to(abs(a), shape), broadcast_to(abs(b), shape)})[0];
}

Tensor lcm(const Tensor& x1, const Tensor& x2) {
  const auto [a, b] = unify(x1, x2, "lcm");
  check<InvalidArgument>(is_integer(a.dtype()), "lcm: expected integers, got {}.", a.dtype());
  return abs(floor_divide(a, gcd(a, b)) * b);  // an integer divided by 0 is 0
}

Tensor select(const std::vector<Tensor>& condlist, const std::vector<Tensor>& choicelist,
              const Tensor& otherwise) {
  const ErrorPlace scope("select");
  check<InvalidArgument>(!condlist.empty() && condlist.size() == choicelist.size(),
                         "select: expected as many choices as conditions, one at least, got {} and "
                         "{}.",
                         choicelist.size(), condlist.size());
  Tensor chosen = otherwise;
  for (size_t i = condlist.size(); i-- > 0;) chosen = where(condlist[i], choicelist[i], chosen);
  return chosen;
}

Tensor isclose(const Tensor& x1, const Tensor& x2, const CloseOptions& options) {
  const ErrorPlace scope("isclose");
  auto [a, b] = unify(x1, x2, "isclose");
  if (!is_floating(a.dtype())) {
    a = cast(a, DType::Float64);  // which can represent all digits of an int32
    b = cast(b, DType::Float64);
  }
  const Tensor near = less_equal(abs(a - b), abs(b) * options.rtol + options.atol);
  const Tensor finite = logical_and(isfinite(a), isfinite(b));
  const Tensor close = logical_or(equal(a, b), logical_and(finite, near));
  return options.equal_nan ? logical_or(close, logical_and(isnan(a), isnan(b))) : close;
}

Tensor allclose(const Tensor& x1, const Tensor& x2, const CloseOptions& options) {
  const ErrorPlace scope("allclose");
  return all(isclose(x1, x2, options));
}

Tensor bitwise_and(const Tensor& x, const Tensor& y) {
  const bool logical = x.dtype() == DType::Bool && y.dtype() == DType::Bool;
  return logical ? logical_and(x, y) : bits<"bitwise_and">(x, y);
}
Tensor bitwise_or(const Tensor& x, const Tensor& y) {
  const bool logical = x.dtype() == DType::Bool && y.dtype() == DType::Bool;
  return logical ? logical_or(x, y) : bits<"bitwise_or">(x, y);
}
Tensor bitwise_xor(const Tensor& x, const Tensor& y) {
  const bool logical = x.dtype() == DType::Bool && y.dtype() == DType::Bool;
  return logical ? logical_xor(x, y) : bits<"bitwise_xor">(x, y);
}
Tensor bitwise_not(const Tensor& x) {
  if (x.dtype() == DType::Bool) return logical_not(x);
  check<InvalidArgument>(is_integer(x.dtype()),
                         "bitwise_not: expected integers, got {} of shape {}. Cast it first, for "
                         "example with ops::cast(x, DType::Int32).",
                         x.dtype(), x.shape());
  return bits<"bitwise_xor">(x, converted_scalar(-1, x.dtype()));
}
Tensor bitwise_invert(const Tensor& x) { return bitwise_not(x); }
Tensor left_shift(const Tensor& x, const Tensor& y) { return bits<"left_shift">(x, y); }
Tensor right_shift(const Tensor& x, const Tensor& y) { return bits<"right_shift">(x, y); }
Tensor bitwise_left_shift(const Tensor& x, const Tensor& y) { return left_shift(x, y); }
Tensor bitwise_right_shift(const Tensor& x, const Tensor& y) { return right_shift(x, y); }

}  // namespace cornu::ops
