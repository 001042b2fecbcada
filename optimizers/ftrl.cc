// SPDX-License-Identifier: Apache-2.0
#include "optimizers/ftrl.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class FtrlImpl : public OptimizerWith<FtrlOptions> {
 public:
  explicit FtrlImpl(const FtrlOptions& options) : OptimizerWith("Ftrl", options) {
    check<InvalidArgument>(options.learning_rate_power <= 0,
                           "Ftrl '{}': expected learning_rate_power <= 0, got {}.", name(),
                           options.learning_rate_power);
    require_positive("initial_accumulator_value", options.initial_accumulator_value);
    require_positive("l1_regularization_strength", options.l1_regularization_strength);
    require_positive("l2_regularization_strength", options.l2_regularization_strength);
    require_positive("l2_shrinkage_regularization_strength",
                     options.l2_shrinkage_regularization_strength);
  }

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    return {{{"accumulator", own_.initial_accumulator_value}, {"linear"}}};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Variable& accumulator = slot(0, index);
    const Variable& linear = slot(1, index);
    const Tensor rate = terms[0];
    const Tensor old = accumulator.value();
    const Tensor weight = variable.value();
    const double l1 = own_.l1_regularization_strength;
    const double power = -own_.learning_rate_power;

    const Tensor shrunk = gradient + weight * (2 * own_.l2_shrinkage_regularization_strength);
    const Tensor sum = old + ops::square(gradient);
    const Tensor scaled = ops::power(sum, power);
    const Tensor total =
        linear.value() + (shrunk - (scaled - ops::power(old, power)) / rate * weight);
    const Tensor l2 = own_.l2_regularization_strength + own_.beta / (2.0 * rate);
    variable.assign((ops::clip(total, -l1, l1) - total) / (scaled / rate + 2.0 * l2));
    linear.assign(total);
    accumulator.assign(sum);
  }

 private:
  void require_positive(const char* what, double value) const {
    check<InvalidArgument>(value >= 0, "Ftrl '{}': expected {} >= 0, got {}.", name(), what, value);
  }
};

}  // namespace

Ftrl::Ftrl(const FtrlOptions& options) : Optimizer(std::make_shared<FtrlImpl>(options)) {}

}  // namespace cornu::optimizers
