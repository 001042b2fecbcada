// SPDX-License-Identifier: Apache-2.0
#include "optimizers/rmsprop.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class RMSpropImpl : public OptimizerWith<RMSpropOptions> {
 public:
  explicit RMSpropImpl(const RMSpropOptions& options) : OptimizerWith("RMSprop", options) {}

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    std::vector<std::vector<Slot>> result = {{{"velocity"}}};
    if (own_.momentum > 0) result.push_back({{"momentum"}});
    if (own_.centered) result.push_back({{"average_gradient"}});
    return result;
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Tensor velocity = move_towards(slot(0, index), ops::square(gradient), 1.0 - own_.rho);
    Tensor denominator = velocity + own_.epsilon;
    if (own_.centered) {
      const Tensor mean =
          move_towards(slot(own_.momentum > 0 ? 2 : 1, index), gradient, 1.0 - own_.rho);
      denominator = velocity - ops::square(mean) + own_.epsilon;
    }
    Tensor step = terms[0] * gradient / ops::sqrt(denominator);
    if (own_.momentum > 0) {
      const Variable& momentum = slot(1, index);
      step = momentum.value() * own_.momentum + step;
      momentum.assign(step);
    }
    variable.assign(variable.value() - step);
  }
};

}  // namespace

RMSprop::RMSprop(const RMSpropOptions& options)
    : Optimizer(std::make_shared<RMSpropImpl>(options)) {}

}  // namespace cornu::optimizers
