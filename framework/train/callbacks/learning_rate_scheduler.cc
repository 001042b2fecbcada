// SPDX-License-Identifier: Apache-2.0
#include "cornu/train/callbacks/learning_rate_scheduler.h"

#include <cmath>

#include "cornu/core/logging.h"
#include "cornu/train/callbacks/text.h"
#include "cornu/train/model.h"

namespace cornu::callbacks {
namespace {

class Impl : public Callback {
 public:
  explicit Impl(const LearningRateSchedulerOptions& options) : options_(options) {
    check<InvalidArgument>(static_cast<bool>(options.schedule),
                           "LearningRateScheduler: expected a schedule, got none.");
  }

  void on_epoch_begin(int64_t epoch, const Logs&) override {
    const double rate = options_.schedule(epoch, current());
    check<InvalidArgument>(std::isfinite(rate),
                           "LearningRateScheduler: expected a learning rate for epoch {}, got {}.",
                           epoch + 1, rate);
    model().optimizer().set_learning_rate(rate);
    if (options_.verbose > 0) {
      logging::info(fmt::format("Epoch {}: LearningRateScheduler setting learning rate to {}.",
                                epoch + 1, float_text(rate)));
    }
  }

  Logs epoch_logs() const override { return {{"learning_rate", current()}}; }

 private:
  double current() const { return model().optimizer().learning_rate().item<double>(); }

  LearningRateSchedulerOptions options_;
};

}  // namespace

LearningRateScheduler::LearningRateScheduler(const LearningRateSchedulerOptions& options)
    : CallbackHandle(std::make_shared<Impl>(options)) {}

}  // namespace cornu::callbacks
