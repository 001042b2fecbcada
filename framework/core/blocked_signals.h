// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace cornu {

// While a guard is alive, no signal handler runs on this thread: signals stay pending or are
// delivered to another thread. (Signals caused by a fault are delivered as usual.) Guards nest, and
// nested ones are free.
//
// Used around oneDNN's kernels: in the middle of its matrix products (jit_avx*_gemm, as of 2.6) the
// stack pointer points into a heap buffer, where a handler's frame would overwrite the data below.
class [[nodiscard]] BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;  // saved by the outermost guard
};

// Blocks signals on the calling thread for the rest of its life. Cheap when called again.
void block_signals_for_good();

}  // namespace cornu
