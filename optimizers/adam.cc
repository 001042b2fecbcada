// SPDX-License-Identifier: Apache-2.0
#include "optimizers/adam.h"

#include "framework/ops/ops.h"
#include "optimizers/adam_impl.h"

namespace cornu::optimizers {

std::vector<std::vector<OptimizerImpl::Slot>> AdamImpl::slot_groups() const {
  std::vector<std::vector<Slot>> result = {{{"momentum"}, {"velocity"}}};
  if (own_.amsgrad) result.push_back({{"velocity_hat"}});
  return result;
}

std::vector<Tensor> AdamImpl::step_terms(const Tensor& learning_rate) {
  const Tensor number = update_number();
  return {learning_rate * ops::sqrt(1.0 - ops::power(own_.beta_2, number)) /
          (1.0 - ops::power(own_.beta_1, number))};
}

void AdamImpl::update_step(const Tensor& gradient, const Variable& variable, size_t index,
                           std::span<const Tensor> terms) {
  const Tensor m = move_towards(slot(0, index), gradient, 1.0 - own_.beta_1);
  Tensor v = move_towards(slot(1, index), ops::square(gradient), 1.0 - own_.beta_2);
  if (own_.amsgrad) {
    const Variable& velocity_hat = slot(2, index);
    v = ops::maximum(velocity_hat.value(), v);
    velocity_hat.assign(v);
  }
  variable.assign(variable.value() - m * terms[0] / (ops::sqrt(v) + own_.epsilon));
}

Adam::Adam(const AdamOptions& options) : Optimizer(std::make_shared<AdamImpl>("Adam", options)) {}

}  // namespace cornu::optimizers
