// SPDX-License-Identifier: Apache-2.0
#include "optimizers/adamax.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class AdamaxImpl : public OptimizerWith<AdamaxOptions> {
 public:
  explicit AdamaxImpl(const AdamaxOptions& options) : OptimizerWith("Adamax", options) {}

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override { return {{{"momentum"}, {"norm"}}}; }

  std::vector<Tensor> step_terms(const Tensor& learning_rate) override {
    return {learning_rate / (1.0 - ops::power(own_.beta_1, update_number()))};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Variable& norm = slot(1, index);
    const Tensor m = move_towards(slot(0, index), gradient, 1.0 - own_.beta_1);
    const Tensor u = ops::maximum(norm.value() * own_.beta_2, ops::abs(gradient));
    norm.assign(u);
    variable.assign(variable.value() - m * terms[0] / (u + own_.epsilon));
  }
};

}  // namespace

Adamax::Adamax(const AdamaxOptions& options) : Optimizer(std::make_shared<AdamaxImpl>(options)) {}

}  // namespace cornu::optimizers
