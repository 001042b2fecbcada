// SPDX-License-Identifier: Apache-2.0
#include "optimizers/lamb.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class LambImpl : public OptimizerWith<LambOptions> {
 public:
  explicit LambImpl(const LambOptions& options) : OptimizerWith("Lamb", options) {}

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    return {{{"momentum"}, {"velocity"}}};
  }

  // The learning rate and the bias corrections of both averages.
  std::vector<Tensor> step_terms(const Tensor& learning_rate) override {
    const Tensor number = update_number();
    return {learning_rate, 1.0 - ops::power(own_.beta_1, number),
            1.0 - ops::power(own_.beta_2, number)};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Tensor m = move_towards(slot(0, index), gradient, 1.0 - own_.beta_1);
    const Tensor v = move_towards(slot(1, index), ops::square(gradient), 1.0 - own_.beta_2);
    const Tensor update = m / terms[1] / (ops::sqrt(v / terms[2]) + own_.epsilon);
    const Tensor weight = variable.value();
    const Tensor weight_norm = ops::sqrt(ops::sum(ops::square(weight)));
    const Tensor update_norm = ops::sqrt(ops::sum(ops::square(update)));
    const Tensor both = ops::logical_and(weight_norm > 0.0, update_norm > 0.0);
    const Tensor ratio = ops::where(both, weight_norm / update_norm, ops::ones_like(weight_norm));
    variable.assign(weight - update * (ratio * terms[0]));
  }
};

}  // namespace

Lamb::Lamb(const LambOptions& options) : Optimizer(std::make_shared<LambImpl>(options)) {}

}  // namespace cornu::optimizers
