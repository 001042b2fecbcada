// SPDX-License-Identifier: Apache-2.0
#include "optimizers/schedules/polynomial_decay.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers::schedules {
namespace {

class PolynomialDecayImpl : public ScheduleImpl {
 public:
  explicit PolynomialDecayImpl(const PolynomialDecayOptions& options) : options_(options) {
    check<InvalidArgument>(options.decay_steps > 0,
                           "PolynomialDecay: expected decay_steps > 0, got {}.",
                           options.decay_steps);
  }

  Tensor operator()(const Tensor& step) const override {
    Tensor now = ops::cast(step, DType::Float32);
    Tensor length = static_cast<float>(options_.decay_steps);
    if (options_.cycle) {
      // The first multiple of decay_steps that isn't below the step.
      length = length * ops::maximum(ops::ceil(now / length), 1.0);
    } else {
      now = ops::minimum(now, length);
    }
    const double range = options_.initial_learning_rate - options_.end_learning_rate;
    return range * ops::power(1.0 - now / length, options_.power) + options_.end_learning_rate;
  }

  std::string class_name() const override { return "PolynomialDecay"; }
  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    return config;
  }

 private:
  PolynomialDecayOptions options_;
};

}  // namespace

PolynomialDecay::PolynomialDecay(const PolynomialDecayOptions& options)
    : LearningRate(std::make_shared<const PolynomialDecayImpl>(options)) {}

}  // namespace cornu::optimizers::schedules
