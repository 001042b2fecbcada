// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace cornu {

// While one lives, no handler of a signal runs on this thread; signals wait, or go to another
// thread. (Those of a fault come as ever.) Guards nest, at no cost.
//
// Around oneDNN's kernels: its matrix products (jit_avx*_gemm, as of 2.6) have the stack pointer in
// the middle of a buffer from the heap, where the frame of a handler would overwrite what lies
// below.
class [[nodiscard]] BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;  // of the outermost one
};

// The same for the rest of the calling thread's life, to its very end. Cheap when called again.
void block_signals_for_good();

}  // namespace cornu
