// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornu::cpu {

// Returns f of an unsigned integer of so many bytes: for moving elements, only their size matters.
template <class F>
auto with_element(size_t bytes, F f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

}  // namespace cornu::cpu
