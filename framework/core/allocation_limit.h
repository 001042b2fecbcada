// SPDX-License-Identifier: Apache-2.0
// How much memory others' numbers may ask for.
#pragma once

#include <cstddef>

namespace cornu {

// While it lives, no block of host memory that its thread asks for may have more bytes than this:
// ResourceExhausted instead. An inner limit can't be above an outer one.
class [[nodiscard]] AllocationLimit {
 public:
  explicit AllocationLimit(size_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

  // ResourceExhausted, saying both numbers, for more than this thread's limit.
  static void check_bytes(size_t bytes);

 private:
  size_t outer_;
};

}  // namespace cornu
