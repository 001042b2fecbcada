// SPDX-License-Identifier: Apache-2.0
// Stacks that code of one thread changes between.
#pragma once

#include <cstddef>

namespace cornu::cuda::simulated {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next enter() begin `body` anew; what ran on the stack before is forgotten. `body`
  // ends by leave(), for ever.
  void start(void (*body)());
  // Runs it until it leaves; from the thread's own stack.
  void enter();
  // Goes back to enter().
  void leave();

 private:
  std::byte* memory_;    // with a page at its lower end that can't be touched
  void* own_ = nullptr;  // stack pointers
  void* back_ = nullptr;
};

}  // namespace cornu::cuda::simulated
