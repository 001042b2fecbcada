// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/one_caller.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu::distribute {

void OneCaller::begin() {
  thread_local const auto own = std::make_shared<const int>(0);
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<const int> current = current_.lock();
  if (current != own) {
    std::erase_if(earlier_, [](const Thread& thread) { return thread.expired(); });
    const bool was_followed =
        std::ranges::any_of(earlier_, [](const Thread& thread) { return thread.lock() == own; });
    check<FailedPrecondition>(
        open_ == 0 && !(current && was_followed),
        "Strategy '{}': another thread of this worker runs steps, or reduces, gathers or reads "
        "batches, too. All workers must make these calls in one order: let one thread make them "
        "all, one after the other.",
        strategy_);
    if (current) earlier_.push_back(current);
    current_ = own;
  }
  ++open_;
}

void OneCaller::end() {
  const std::lock_guard lock(mutex_);
  --open_;
}

void OneCaller::reset() {
  const std::lock_guard lock(mutex_);
  if (open_ > 0) return;
  current_.reset();
  earlier_.clear();
}

}  // namespace cornu::distribute
