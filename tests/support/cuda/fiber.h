// SPDX-License-Identifier: Apache-2.0
// Separate stacks that the code of one thread can switch between.
#pragma once

#include <cstddef>

namespace cornu::cuda::simulated {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next enter() start `body` from the beginning; whatever ran on the stack before is
  // discarded. `body` must end by calling leave() and is never resumed after that.
  void start(void (*body)());
  // Runs the fiber until it leaves; called on the thread's own stack.
  void enter();
  // Returns to enter().
  void leave();

 private:
  std::byte* memory_;    // with an inaccessible guard page at its lower end
  void* own_ = nullptr;  // stack pointers
  void* back_ = nullptr;
};

}  // namespace cornu::cuda::simulated
