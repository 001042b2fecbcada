// SPDX-License-Identifier: Apache-2.0
#include "optimizers/adagrad.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class AdagradImpl : public OptimizerWith<AdagradOptions> {
 public:
  explicit AdagradImpl(const AdagradOptions& options) : OptimizerWith("Adagrad", options) {}

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    return {{{"accumulator", own_.initial_accumulator_value}}};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Variable& accumulator = slot(0, index);
    const Tensor sum = accumulator.value() + ops::square(gradient);
    accumulator.assign(sum);
    variable.assign(variable.value() - terms[0] * gradient / ops::sqrt(sum + own_.epsilon));
  }
};

}  // namespace

Adagrad::Adagrad(const AdagradOptions& options)
    : Optimizer(std::make_shared<AdagradImpl>(options)) {}

}  // namespace cornu::optimizers
