// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>
#include <vector>

#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/numeric.h"

namespace cornu::ops {

using namespace internal;

namespace {

// The parameters for a dtype: where the power series ends and the asymptotic one begins, and the
// number of terms of each. All terms of both are positive, so the series and their derivatives are
// as exact as their largest terms.
struct Terms {
  double border;
  int power;
  int asymptotic;
};
constexpr Terms kSingle = {10, 24, 12};
constexpr Terms kDouble = {19, 42, 24};

Tensor horner(const std::vector<double>& coefficients, const Tensor& x) {
  Tensor value = coefficients.back() * x + coefficients[coefficients.size() - 2];
  for (size_t i = coefficients.size() - 2; i-- > 0;) value = value * x + coefficients[i];
  return value;
}

// The sum of (x^2 / 4)^k / k!^2 (Abramowitz and Stegun, 9.6.12), evaluated in terms of x / border.
Tensor power_series(const Tensor& x, const Terms& terms) {
  std::vector<double> coefficients = {1};
  for (int k = 1; k < terms.power; ++k) {
    const double factor = terms.border / (2 * k);
    coefficients.push_back(coefficients.back() * factor * factor);
  }
  return horner(coefficients, square(x * (1 / terms.border)));
}

// exp(x) / sqrt(2 pi x) times the sum of ((2k - 1)!!)^2 / (k! (8x)^k) (9.7.1).
Tensor asymptotic_series(const Tensor& x, const Terms& terms) {
  std::vector<double> coefficients = {1};
  for (int k = 1; k < terms.asymptotic; ++k) {
    coefficients.push_back(coefficients.back() * (2 * k - 1) * (2 * k - 1) /
                           (8 * terms.border * k));
  }
  const Tensor root = exp(0.5 * x);  // finite if the result is
  const Tensor scale = rsqrt(2 * std::numbers::pi * x);
  return root * scale * horner(coefficients, terms.border / x) * root;
}

}  // namespace

Tensor i0(const Tensor& x) {
  const ErrorPlace scope("i0");
  require_defined(x, "i0");
  const DType dtype = x.dtype() == DType::Int64 ? DType::Float64 : to_floating(x).dtype();
  const Tensor real = cast(x, promote(dtype, DType::Float32));
  const Tensor away = abs(real);
  const Terms& terms = real.dtype() == DType::Float64 ? kDouble : kSingle;
  // Each series only sees its own range, so that the infinities of the other one don't reach
  // gradients; beyond 1000 everything is infinite.
  const Tensor near = power_series(clip(real, -terms.border, terms.border), terms);
  const Tensor far = asymptotic_series(clip(away, terms.border, 1000), terms);
  return cast(where(away > terms.border, far, near), dtype);
}

}  // namespace cornu::ops
