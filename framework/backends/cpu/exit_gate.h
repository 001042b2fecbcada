// SPDX-License-Identifier: Apache-2.0
// Exiting while other threads compute. exit() destroys the static objects of oneDNN, e.g. code that
// it has generated, whatever threads are running.
#pragma once

#include <string_view>

namespace cornu::cpu {

// While alive, this thread makes oneDNN's kernels, or runs one together with its compute threads.
// When a thread has called exit, the handler waits for those of other threads. Further ones sleep
// for some seconds, in which the process usually ends, and then throw FailedPrecondition: the
// destructor of a static object may be waiting for that thread. The thread that exits may continue:
// such destructors may compute. An instance must not wait for another thread's, nor for what is
// locked around another one.
class [[nodiscard]] KernelUse {
 public:
  KernelUse();
  ~KernelUse();
  KernelUse(const KernelUse&) = delete;
  KernelUse& operator=(const KernelUse&) = delete;
};

// To be called when an implementation has been run once: the handler then runs before the
// destructors of the static objects that this has made. (Handlers and destructors run in reverse
// order.)
void exit_before(std::string_view implementation);

// Whether the handler has run.
bool process_exits();

}  // namespace cornu::cpu
