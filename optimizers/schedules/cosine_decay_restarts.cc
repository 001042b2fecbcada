// SPDX-License-Identifier: Apache-2.0
#include "optimizers/schedules/cosine_decay_restarts.h"

#include <cmath>
#include <numbers>

#include "framework/ops/ops.h"

namespace cornu::optimizers::schedules {
namespace {

class CosineDecayRestartsImpl : public ScheduleImpl {
 public:
  explicit CosineDecayRestartsImpl(const CosineDecayRestartsOptions& options) : options_(options) {
    check<InvalidArgument>(options.first_decay_steps > 0,
                           "CosineDecayRestarts: expected first_decay_steps > 0, got {}.",
                           options.first_decay_steps);
  }

  Tensor operator()(const Tensor& step) const override {
    const Tensor waves =
        ops::cast(step, DType::Float32) / static_cast<double>(options_.first_decay_steps);
    const double t_mul = options_.t_mul;
    Tensor wave;      // which one, from 0
    Tensor position;  // in it, in [0, 1)
    if (t_mul == 1.0) {
      wave = ops::floor(waves);
      position = waves - wave;
    } else {
      wave = ops::floor(ops::log(1.0 - waves * (1.0 - t_mul)) / std::log(t_mul));
      const Tensor length = ops::power(t_mul, wave);
      position = (waves - (1.0 - length) / (1.0 - t_mul)) / length;
    }
    const Tensor height =
        0.5 * ops::power(options_.m_mul, wave) * (1.0 + ops::cos(std::numbers::pi * position));
    return options_.initial_learning_rate * ((1.0 - options_.alpha) * height + options_.alpha);
  }

  std::string class_name() const override { return "CosineDecayRestarts"; }
  Json get_config() const override {
    Json config = Json::object();
    write_options(config, options_);
    return config;
  }

 private:
  CosineDecayRestartsOptions options_;
};

}  // namespace

CosineDecayRestarts::CosineDecayRestarts(const CosineDecayRestartsOptions& options)
    : LearningRate(std::make_shared<const CosineDecayRestartsImpl>(options)) {}

}  // namespace cornu::optimizers::schedules
