// SPDX-License-Identifier: Apache-2.0
// Converts C++ numbers to values of a dtype.
#pragma once

#include <cmath>
#include <limits>

#include "framework/core/tensor.h"

namespace cornu::data {

// `value` as a scalar. Throws InvalidArgument, with a message beginning with `what`, if the dtype
// can't represent it: a fraction or an out-of-range number for integers, numbers other than 0 and 1
// for bools. Floating-point dtypes round.
inline Tensor exact_scalar(double value, DType dtype, std::string_view what) {
  Tensor scalar = Tensor::empty({}, dtype);
  dispatch_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    bool fits = true;
    if constexpr (std::is_integral_v<T>) {
      // The largest integer may not be representable as a double, but its successor, a power of
      // two, is.
      const double end =
          std::is_same_v<T, bool> ? 2 : std::ldexp(1.0, std::numeric_limits<T>::digits);
      fits = value == std::trunc(value) && value < end &&
             value >= static_cast<double>(std::numeric_limits<T>::min());
    }
    check<InvalidArgument>(fits, "{} was expected to be a number that {} has, got {}.", what,
                           to_string(dtype), value);
    scalar.mutable_data<T>()[0] = static_cast<T>(value);
  });
  return scalar;
}

}  // namespace cornu::data
