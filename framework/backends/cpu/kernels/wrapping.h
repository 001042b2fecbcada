// SPDX-License-Identifier: Apache-2.0
// Arithmetic of integers that wraps around.
#pragma once

#include <type_traits>

namespace cornu::cpu {

// The type whose sums and products have the bits of T's, without overflow: unsigned for integers.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;

}  // namespace cornu::cpu
