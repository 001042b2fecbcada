// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

// Computes the learning rate of an epoch (counted from 0): a function of the epoch, or of the epoch
// and the current rate.
class EpochSchedule {
 public:
  EpochSchedule() = default;
  template <class F>
  requires(std::is_invocable_r_v<double, F, int64_t, double>) EpochSchedule(F function)
      : function_(std::move(function)) {}  // NOLINT: implicit on purpose
  template <class F>
  requires(std::is_invocable_r_v<double, F, int64_t>) EpochSchedule(F function)  // NOLINT
      : function_(
            [function = std::move(function)](int64_t epoch, double) { return function(epoch); }) {}
  explicit operator bool() const { return static_cast<bool>(function_); }
  double operator()(int64_t epoch, double rate) const { return function_(epoch, rate); }

 private:
  std::function<double(int64_t, double)> function_;
};

struct LearningRateSchedulerOptions {
  EpochSchedule schedule = {};
  int verbose = 0;  // 1: log the rate of each epoch
};

// Sets the optimizer's learning rate before each epoch (keras.callbacks.LearningRateScheduler), and
// adds "learning_rate" to the epoch's logs. Throws InvalidArgument without a schedule, or when it
// returns a number that isn't finite; FailedPrecondition for an optimizer whose learning rate is
// itself a schedule.
class LearningRateScheduler final : public CallbackHandle {
 public:
  explicit LearningRateScheduler(const LearningRateSchedulerOptions& options);
};

}  // namespace cornu::callbacks
