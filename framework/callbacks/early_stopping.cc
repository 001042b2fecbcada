// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/early_stopping.h"

#include "framework/callbacks/monitor.h"
#include "framework/core/logging.h"

namespace cornu::callbacks {
namespace {

class EarlyStoppingImpl : public Callback {
 public:
  explicit EarlyStoppingImpl(const EarlyStoppingOptions& options)
      : options_(options),
        monitor_("EarlyStopping", options.monitor, options.mode, options.min_delta) {}
  std::string class_name() const override { return "EarlyStopping"; }

  void on_train_begin(const Logs&) override { state_ = {}; }

  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    const std::optional<double> value = monitor_.value(logs);
    if (!value || epoch < options_.start_from_epoch) return;
    // Ensures that there are weights to restore, even if the baseline is never reached.
    if (options_.restore_best_weights && state_.best_weights.empty()) remember(epoch);
    ++state_.wait;
    if (monitor_.improves(*value, state_.best, trained().metrics())) {
      state_.best = value;
      remember(epoch);
      if (monitor_.improves(*value, options_.baseline, trained().metrics())) state_.wait = 0;
      return;
    }
    if (state_.wait >= options_.patience && epoch > 0) {
      state_.stopped_epoch = epoch;
      trained().stop_training();
    }
  }

  void on_train_end(const Logs&) override {
    if (state_.stopped_epoch > 0) {
      say(fmt::format("Epoch {}: early stopping", state_.stopped_epoch + 1));
    }
    if (options_.restore_best_weights && !state_.best_weights.empty()) {
      say(fmt::format("Restoring the weights of the best epoch, {}", state_.best_epoch + 1));
      trained().set_weights(state_.best_weights);
    }
  }

  RunState save_state() const override {
    RunState saved{.info = Json::object({{"monitor", monitor_.name()},
                                         {"wait", state_.wait},
                                         {"best", state_.best ? Json(*state_.best) : Json()},
                                         {"best_epoch", state_.best_epoch},
                                         {"stopped_epoch", state_.stopped_epoch}})};
    for (size_t i = 0; i < state_.best_weights.size(); ++i) {
      saved.tensors.emplace_back(fmt::format("best_weight_{}", i), state_.best_weights[i]);
    }
    return saved;
  }
  void restore_state(const RunState& saved) override {
    const Json& json = saved.info;
    monitor_.require_same(json.at("monitor").as_string());
    const Json& best = json.at("best");
    state_ = {.wait = json.at("wait").as_int(),
              .best_epoch = json.at("best_epoch").as_int(),
              .stopped_epoch = json.at("stopped_epoch").as_int(),
              .best = best.is_null() ? std::nullopt : std::optional(best.as_double())};
    for (const auto& [name, tensor] : saved.tensors) state_.best_weights.push_back(tensor);
  }

  struct State {
    int64_t wait = 0;
    int64_t best_epoch = 0;
    int64_t stopped_epoch = 0;
    std::optional<double> best = {};
    std::vector<Tensor> best_weights = {};
  };
  const State& state() const { return state_; }

 private:
  void remember(int64_t epoch) {
    state_.best_epoch = epoch;
    if (options_.restore_best_weights) state_.best_weights = trained().get_weights();
  }
  void say(const std::string& message) const {
    if (options_.verbose > 0) logging::info(message);
  }

  EarlyStoppingOptions options_;
  Monitor monitor_;
  State state_;
};

const EarlyStoppingImpl::State& state_of(const EarlyStopping& handle) {
  return static_cast<const EarlyStoppingImpl&>(handle.get()).state();
}

}  // namespace

EarlyStopping::EarlyStopping(const EarlyStoppingOptions& options)
    : CallbackHandle(std::make_shared<EarlyStoppingImpl>(options)) {}

int64_t EarlyStopping::stopped_epoch() const { return state_of(*this).stopped_epoch; }
int64_t EarlyStopping::best_epoch() const { return state_of(*this).best_epoch; }
std::optional<double> EarlyStopping::best() const { return state_of(*this).best; }

}  // namespace cornu::callbacks
