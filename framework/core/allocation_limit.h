// SPDX-License-Identifier: Apache-2.0
// A limit on allocations whose sizes come from untrusted input.
#pragma once

#include <cstddef>

namespace cornu {

// While this guard is alive, any request of its thread for a host memory block of more than `bytes`
// bytes throws ResourceExhausted. An inner limit can't exceed an outer one.
class [[nodiscard]] AllocationLimit {
 public:
  explicit AllocationLimit(size_t bytes);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

  // Throws ResourceExhausted, with both numbers in the message, when `bytes` exceeds this thread's
  // limit.
  static void check_bytes(size_t bytes);

 private:
  size_t outer_;
};

}  // namespace cornu
