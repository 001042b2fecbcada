// SPDX-License-Identifier: Apache-2.0
#include "optimizers/schedules/cosine_decay.h"

#include <numbers>

#include "framework/ops/ops.h"

namespace cornu::optimizers::schedules {
namespace {

class CosineDecayImpl : public ScheduleImpl {
 public:
  explicit CosineDecayImpl(const CosineDecayOptions& options) : options_(options) {
    check<InvalidArgument>(options.decay_steps > 0,
                           "CosineDecay: expected decay_steps > 0, got {}.", options.decay_steps);
  }

  Tensor operator()(const Tensor& step) const override {
    const Tensor now = ops::cast(step, DType::Float32);
    if (!options_.warmup_target) return decayed(now, options_.initial_learning_rate);
    const double first = options_.initial_learning_rate;
    const double target = *options_.warmup_target;
    const auto warmup = static_cast<double>(options_.warmup_steps);
    if (options_.warmup_steps == 0) return decayed(now, target);
    return ops::where(now < warmup, now / warmup * (target - first) + first,
                      decayed(now - warmup, target));
  }

  std::string class_name() const override { return "CosineDecay"; }
  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    return config;
  }

 private:
  Tensor decayed(const Tensor& step, double from) const {
    const auto steps = static_cast<double>(options_.decay_steps);
    const Tensor wave =
        0.5 * (1.0 + ops::cos(std::numbers::pi * (ops::minimum(step, steps) / steps)));
    return from * ((1.0 - options_.alpha) * wave + options_.alpha);
  }

  CosineDecayOptions options_;
};

}  // namespace

CosineDecay::CosineDecay(const CosineDecayOptions& options)
    : LearningRate(std::make_shared<const CosineDecayImpl>(options)) {}

}  // namespace cornu::optimizers::schedules
