// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/swap_ema_weights.h"

namespace cornu::callbacks {
namespace {

class SwapEmaWeightsImpl : public Callback {
 public:
  explicit SwapEmaWeightsImpl(const SwapEMAWeightsOptions& options) : options_(options) {}
  std::string class_name() const override { return "SwapEMAWeights"; }

  void on_epoch_begin(int64_t, const Logs&) override {
    if (options_.swap_on_epoch) put_averages(false);
  }
  void on_epoch_end(int64_t epoch, const Logs&) override {
    if (!options_.swap_on_epoch) return;
    put_averages(true);
    // At its end, fit copies the averages into the model, so they must equal its current weights.
    if (epoch != params().epochs - 1) return;
    for (const auto& [variable, average] : pairs()) average.assign(variable.value());
  }
  void on_test_begin(const Logs&) override { put_averages(true); }
  void on_test_end(const Logs&) override { put_averages(false); }
  void on_predict_begin(const Logs&) override { put_averages(true); }
  void on_predict_end(const Logs&) override { put_averages(false); }

  RunState save_state() const override {
    return {.info = Json::object({{"averages_in_model", averages_in_model_}})};
  }
  void restore_state(const RunState& state) override {
    averages_in_model_ = state.info.at("averages_in_model").as_bool();
  }

 private:
  std::vector<std::pair<Variable, Variable>> pairs() const {
    try {
      return trained().averages();
    } catch (Error& error) {
      error.add_place("SwapEMAWeights");
      throw;
    }
  }

  // Puts the averages into the model, or the weights back.
  void put_averages(bool wanted) {
    if (wanted == averages_in_model_) return;
    for (const auto& [variable, average] : pairs()) {
      const Tensor value = variable.value();
      variable.assign(average.value());
      average.assign(value);
    }
    averages_in_model_ = wanted;
  }

  SwapEMAWeightsOptions options_;
  bool averages_in_model_ = false;
};

}  // namespace

SwapEMAWeights::SwapEMAWeights(const SwapEMAWeightsOptions& options)
    : CallbackHandle(std::make_shared<SwapEmaWeightsImpl>(options)) {}

}  // namespace cornu::callbacks
