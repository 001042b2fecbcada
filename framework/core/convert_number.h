// SPDX-License-Identifier: Apache-2.0
// Numeric conversions that are defined for every value.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace cornu {

// Converts a floating-point number to an integer by truncating it and clamping to the type's range;
// NaN becomes 0. Converts to bool by comparing with 0. All other conversions follow C++.
template <class From, class To>
To convert_number(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr To kHighest = std::numeric_limits<To>::max();
    constexpr To kLowest = std::numeric_limits<To>::lowest();
    if (std::isnan(value)) return 0;
    // kHighest may round up to a value that is out of range.
    if (value >= static_cast<From>(kHighest)) return kHighest;
    if (value <= static_cast<From>(kLowest)) return kLowest;
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace cornu
