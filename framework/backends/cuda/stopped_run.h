// SPDX-License-Identifier: Apache-2.0
// Whether a run that needs other processes was stopped before it was done.
#pragma once

#include <atomic>
#include <exception>
#include <utility>

namespace cornu::cuda {

// Thread-safe; stop() is called once at most.
class StoppedRun {
 public:
  // `why`: the error that readers of its results get.
  void stop(std::exception_ptr why) {
    why_ = std::move(why);
    is_stopped_ = true;
  }
  // Null where it wasn't stopped.
  std::exception_ptr why() const { return is_stopped_ ? why_ : nullptr; }

 private:
  std::exception_ptr why_;
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace cornu::cuda
