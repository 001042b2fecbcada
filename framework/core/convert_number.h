// SPDX-License-Identifier: Apache-2.0
// Numbers as numbers of another type, whatever they are.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace cornu {

// A floating-point number as an integer: its whole part, or the nearest number that the type has; 0
// for NaN. As bool: whether it isn't 0. Else as C++ has it.
template <class From, class To>
To convert_number(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr To kHighest = std::numeric_limits<To>::max();
    constexpr To kLowest = std::numeric_limits<To>::lowest();
    if (std::isnan(value)) return 0;
    // The highest number may round up to one that is out of range.
    if (value >= static_cast<From>(kHighest)) return kHighest;
    if (value <= static_cast<From>(kLowest)) return kLowest;
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace cornu
