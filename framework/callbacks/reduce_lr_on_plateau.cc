// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/reduce_lr_on_plateau.h"

#include <algorithm>

#include "framework/callbacks/monitor.h"
#include "framework/callbacks/text.h"
#include "framework/core/logging.h"

namespace cornu::callbacks {
namespace {

class ReduceLrOnPlateauImpl : public Callback {
 public:
  explicit ReduceLrOnPlateauImpl(const ReduceLROnPlateauOptions& options)
      : options_(options),
        monitor_("ReduceLROnPlateau", options.monitor, options.mode, options.min_delta) {
    check<InvalidArgument>(options.factor < 1.0,
                           "ReduceLROnPlateau: expected a factor below 1, got {}.", options.factor);
  }
  std::string class_name() const override { return "ReduceLROnPlateau"; }

  void on_train_begin(const Logs&) override { state_ = {}; }

  // The rate with which the epoch was trained.
  Logs epoch_logs() const override { return {{"learning_rate", current()}}; }

  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    const std::optional<double> value = monitor_.value(logs);
    if (!value) return;
    if (state_.cooldown > 0) {
      --state_.cooldown;
      state_.wait = 0;
    }
    if (monitor_.improves(*value, state_.best, trained().metrics())) {
      state_.best = value;
      state_.wait = 0;
    } else if (state_.cooldown == 0 && ++state_.wait >= options_.patience) {
      reduce(epoch);
    }
  }

  RunState save_state() const override {
    return {.info = Json::object({{"monitor", monitor_.name()},
                                  {"best", state_.best ? Json(*state_.best) : Json()},
                                  {"wait", state_.wait},
                                  {"cooldown", state_.cooldown}})};
  }
  void restore_state(const RunState& saved) override {
    const Json& json = saved.info;
    monitor_.require_same(json.at("monitor").as_string());
    const Json& best = json.at("best");
    state_ = {.best = best.is_null() ? std::nullopt : std::optional(best.as_double()),
              .wait = json.at("wait").as_int(),
              .cooldown = json.at("cooldown").as_int()};
  }

 private:
  double current() const { return trained().learning_rate(); }

  void reduce(int64_t epoch) {
    // Compare in float32, like the optimizer's rate.
    if (current() <= static_cast<double>(static_cast<float>(options_.min_lr))) return;
    const double rate = std::max(current() * options_.factor, options_.min_lr);
    trained().set_learning_rate(rate);
    if (options_.verbose > 0) {
      logging::info(fmt::format("Epoch {}: ReduceLROnPlateau reducing learning rate to {}.",
                                epoch + 1, float_text(rate)));
    }
    state_.cooldown = options_.cooldown;
    state_.wait = 0;
  }

  struct State {
    std::optional<double> best = {};
    int64_t wait = 0;
    int64_t cooldown = 0;
  };

  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  State state_;
};

}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(const ReduceLROnPlateauOptions& options)
    : CallbackHandle(std::make_shared<ReduceLrOnPlateauImpl>(options)) {}

}  // namespace cornu::callbacks
