// SPDX-License-Identifier: Apache-2.0
#include "optimizers/adadelta.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class AdadeltaImpl : public OptimizerWith<AdadeltaOptions> {
 public:
  explicit AdadeltaImpl(const AdadeltaOptions& options) : OptimizerWith("Adadelta", options) {}

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    return {{{"accumulated_grad"}, {"accumulated_delta_var"}}};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Tensor squares = move_towards(slot(0, index), ops::square(gradient), 1.0 - own_.rho);
    const Tensor step = root(slot(1, index).value()) * gradient / root(squares);
    move_towards(slot(1, index), ops::square(step), 1.0 - own_.rho);
    variable.assign(variable.value() - terms[0] * step);
  }

 private:
  Tensor root(const Tensor& x) const { return ops::sqrt(x + own_.epsilon); }
};

}  // namespace

Adadelta::Adadelta(const AdadeltaOptions& options)
    : Optimizer(std::make_shared<AdadeltaImpl>(options)) {}

}  // namespace cornu::optimizers
