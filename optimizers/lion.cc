// SPDX-License-Identifier: Apache-2.0
#include "optimizers/lion.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class LionImpl : public OptimizerWith<LionOptions> {
 public:
  explicit LionImpl(const LionOptions& options) : OptimizerWith("Lion", options) {
    check<InvalidArgument>(options.beta_1 > 0 && options.beta_1 <= 1,
                           "Lion '{}': expected beta_1 in (0, 1], got {}.", name(), options.beta_1);
  }

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override { return {{{"momentum"}}}; }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Variable& momentum = slot(0, index);
    const Tensor m = momentum.value();
    const Tensor direction = ops::sign(m * own_.beta_1 + gradient * (1.0 - own_.beta_1));
    variable.assign(variable.value() - terms[0] * direction);
    momentum.assign(m * own_.beta_2 + gradient * (1.0 - own_.beta_2));
  }
};

}  // namespace

Lion::Lion(const LionOptions& options) : Optimizer(std::make_shared<LionImpl>(options)) {}

}  // namespace cornu::optimizers
