// SPDX-License-Identifier: Apache-2.0
#include "optimizers/schedules/exponential_decay.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers::schedules {
namespace {

class ExponentialDecayImpl : public ScheduleImpl {
 public:
  explicit ExponentialDecayImpl(const ExponentialDecayOptions& options) : options_(options) {
    check<InvalidArgument>(options.decay_steps > 0,
                           "ExponentialDecay: expected decay_steps > 0, got {}.",
                           options.decay_steps);
  }

  Tensor operator()(const Tensor& step) const override {
    Tensor periods = ops::cast(step, DType::Float32) / static_cast<double>(options_.decay_steps);
    if (options_.staircase) periods = ops::floor(periods);
    return options_.initial_learning_rate * ops::power(options_.decay_rate, periods);
  }

  std::string class_name() const override { return "ExponentialDecay"; }
  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    return config;
  }

 private:
  ExponentialDecayOptions options_;
};

}  // namespace

ExponentialDecay::ExponentialDecay(const ExponentialDecayOptions& options)
    : LearningRate(std::make_shared<const ExponentialDecayImpl>(options)) {}

}  // namespace cornu::optimizers::schedules
