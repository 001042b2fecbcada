// SPDX-License-Identifier: Apache-2.0
// Records whether a run that depends on other processes was stopped before it completed.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "framework/core/exception_text.h"

namespace cornu::cuda {

// Thread-safe; stop() is called at most once.
class StoppedRun {
 public:
  StoppedRun() : number_(++made()) {}

  // `why`: the error that readers of its results get.
  void stop(std::exception_ptr why) {
    why_ = std::move(why);
    is_stopped_ = true;
  }
  // Returns null when the run wasn't stopped.
  std::exception_ptr why() const { return is_stopped_ ? why_ : nullptr; }
  // The later of two runs has the larger number. If it wasn't stopped, neither was the earlier one,
  // unless the runs' groups differ, in which case the earlier group has reached its end.
  uint64_t number() const { return number_; }

 private:
  static std::atomic<uint64_t>& made() {
    static std::atomic<uint64_t> count = 0;
    return count;
  }

  uint64_t number_;
  std::exception_ptr why_;
  std::atomic<bool> is_stopped_ = false;
};

// What a value depends on: a stopped run, if there is one among its runs, otherwise the last of
// them. Null: no run that can be stopped.
using Origin = std::shared_ptr<const StoppedRun>;

inline void add_origin(Origin& origin, const Origin& other) {
  if (!other || (origin && origin->why())) return;
  if (!origin || other->why() || other->number() > origin->number()) origin = other;
}

// Throws when the value isn't known to be correct.
inline void require_right(const Origin& origin) {
  if (const std::exception_ptr why = origin ? origin->why() : nullptr) rethrow_copy(why);
}

}  // namespace cornu::cuda
