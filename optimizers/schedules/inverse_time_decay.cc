// SPDX-License-Identifier: Apache-2.0
#include "optimizers/schedules/inverse_time_decay.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers::schedules {
namespace {

class InverseTimeDecayImpl : public ScheduleImpl {
 public:
  explicit InverseTimeDecayImpl(const InverseTimeDecayOptions& options) : options_(options) {
    check<InvalidArgument>(options.decay_steps > 0,
                           "InverseTimeDecay: expected decay_steps > 0, got {}.",
                           options.decay_steps);
  }

  Tensor operator()(const Tensor& step) const override {
    Tensor periods = ops::cast(step, DType::Float32) / static_cast<double>(options_.decay_steps);
    if (options_.staircase) periods = ops::floor(periods);
    return options_.initial_learning_rate / (1.0 + options_.decay_rate * periods);
  }

  std::string class_name() const override { return "InverseTimeDecay"; }
  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    return config;
  }

 private:
  InverseTimeDecayOptions options_;
};

}  // namespace

InverseTimeDecay::InverseTimeDecay(const InverseTimeDecayOptions& options)
    : LearningRate(std::make_shared<const InverseTimeDecayImpl>(options)) {}

}  // namespace cornu::optimizers::schedules
