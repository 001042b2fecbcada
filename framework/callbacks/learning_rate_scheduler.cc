// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/learning_rate_scheduler.h"

#include <cmath>

#include "framework/callbacks/text.h"
#include "framework/core/logging.h"

namespace cornu::callbacks {
namespace {

class LearningRateSchedulerImpl : public Callback {
 public:
  explicit LearningRateSchedulerImpl(const LearningRateSchedulerOptions& options)
      : options_(options) {
    check<InvalidArgument>(static_cast<bool>(options.schedule),
                           "LearningRateScheduler: expected a schedule, got none.");
  }
  std::string class_name() const override { return "LearningRateScheduler"; }

  void on_epoch_begin(int64_t epoch, const Logs&) override {
    const double rate = options_.schedule(epoch, current());
    check<InvalidArgument>(std::isfinite(rate),
                           "LearningRateScheduler: expected a learning rate for epoch {}, got {}.",
                           epoch + 1, rate);
    trained().set_learning_rate(rate);
    if (options_.verbose > 0) {
      logging::info(fmt::format("Epoch {}: LearningRateScheduler setting learning rate to {}.",
                                epoch + 1, float_text(rate)));
    }
  }

  Logs epoch_logs() const override { return {{"learning_rate", current()}}; }

 private:
  double current() const { return trained().learning_rate(); }

  LearningRateSchedulerOptions options_;
};

}  // namespace

LearningRateScheduler::LearningRateScheduler(const LearningRateSchedulerOptions& options)
    : CallbackHandle(std::make_shared<LearningRateSchedulerImpl>(options)) {}

}  // namespace cornu::callbacks
