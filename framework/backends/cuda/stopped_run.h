// SPDX-License-Identifier: Apache-2.0
// Whether a run that needs other processes was stopped before it was done.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "framework/core/exception_text.h"

namespace cornu::cuda {

// Thread-safe; stop() is called once at most.
class StoppedRun {
 public:
  StoppedRun() : number_(++made()) {}

  // `why`: the error that readers of its results get.
  void stop(std::exception_ptr why) {
    why_ = std::move(why);
    is_stopped_ = true;
  }
  // Null where it wasn't stopped.
  std::exception_ptr why() const { return is_stopped_ ? why_ : nullptr; }
  // Of two runs the later one has the larger number. Where that one wasn't stopped, the other one
  // wasn't either, unless their groups differ, of which the first has come to its end then.
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

// What a value depends on: one of these runs that was stopped, or the last one. Null: on none that
// can be stopped.
using Origin = std::shared_ptr<const StoppedRun>;

inline void add_origin(Origin& origin, const Origin& other) {
  if (!other || (origin && origin->why())) return;
  if (!origin || other->why() || other->number() > origin->number()) origin = other;
}

// Throws where the value isn't known to be right.
inline void require_right(const Origin& origin) {
  if (const std::exception_ptr why = origin ? origin->why() : nullptr) rethrow_copy(why);
}

}  // namespace cornu::cuda
