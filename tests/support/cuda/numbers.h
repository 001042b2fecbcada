// SPDX-License-Identifier: Apache-2.0
// Arrays of any floating-point dtype as doubles, for the simulated libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <type_traits>
#include <vector>

#include "framework/core/dtype.h"

namespace cornu::cuda::simulated {

inline size_t elements_of(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

inline std::vector<double> read_numbers(const void* memory, DType dtype, size_t count) {
  return dispatch_dtype(dtype, [&]<class T>(T) {
    const T* from = static_cast<const T*>(memory);
    std::vector<double> numbers(count);
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        numbers[i] = static_cast<double>(from[i]);
      } else {
        numbers[i] = static_cast<double>(static_cast<float>(from[i]));
      }
    }
    return numbers;
  });
}

inline void write_numbers(void* memory, DType dtype, const std::vector<double>& numbers) {
  dispatch_dtype(dtype, [&]<class T>(T) {
    T* to = static_cast<T*>(memory);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        to[i] = static_cast<T>(numbers[i]);
      } else {
        to[i] = T(static_cast<float>(numbers[i]));
      }
    }
  });
}

}  // namespace cornu::cuda::simulated
