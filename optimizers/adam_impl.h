// SPDX-License-Identifier: Apache-2.0
// The implementation shared by Adam and AdamW.
#pragma once

#include <vector>

#include "optimizers/adam.h"

namespace cornu::optimizers {

// Adam, under its own or another class name.
class AdamImpl : public OptimizerWith<AdamOptions> {
 public:
  using OptimizerWith::OptimizerWith;

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override;
  // Returns the learning rate with both bias corrections.
  std::vector<Tensor> step_terms(const Tensor& learning_rate) override;
  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override;
};

}  // namespace cornu::optimizers
