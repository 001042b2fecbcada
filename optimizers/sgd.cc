// SPDX-License-Identifier: Apache-2.0
#include "optimizers/sgd.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class SGDImpl : public OptimizerWith<SGDOptions> {
 public:
  explicit SGDImpl(const SGDOptions& options) : OptimizerWith("SGD", options) {
    check<InvalidArgument>(options.momentum >= 0 && options.momentum <= 1,
                           "SGD '{}': expected momentum in [0, 1], got {}.", name(),
                           options.momentum);
  }

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    if (own_.momentum == 0) return {};
    return {{{"momentum"}}};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Tensor step = gradient * terms[0];
    if (own_.momentum == 0) {
      variable.assign(variable.value() - step);
      return;
    }
    const Variable& velocity = slot(0, index);
    const Tensor moved = velocity.value() * own_.momentum - step;
    velocity.assign(moved);
    variable.assign(variable.value() + (own_.nesterov ? moved * own_.momentum - step : moved));
  }
};

}  // namespace

SGD::SGD(const SGDOptions& options) : Optimizer(std::make_shared<SGDImpl>(options)) {}

}  // namespace cornu::optimizers
