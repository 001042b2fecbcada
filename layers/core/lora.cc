// SPDX-License-Identifier: Apache-2.0
#include "layers/core/lora.h"

namespace cornu::layers {
namespace {

Tensor sum_of(const Tensor& x, const Tensor& added) { return x + ops::cast(added, x.dtype()); }

}  // namespace

Tensor Lora::added() const { return ops::matmul(a_, b_) * scale_; }

Tensor Lora::added_rows(const Tensor& indices) const {
  return ops::matmul(ops::take(a_, indices, 0), b_) * scale_;
}

Tensor Lora::sum() const { return sum_of(weight_, added()); }

Tensor Lora::rows_at(const Tensor& indices) const {
  return sum_of(ops::take(weight_, indices, 0), added_rows(indices));
}

Tensor Lora::added_in_file() const { return ops::matmul(a_.stored(), b_.stored()) * scale_; }

std::vector<Variable> Lora::saved_weights(std::vector<Variable> own) const {
  std::erase_if(own, [&](const Variable& weight) {
    return weight.id() == a_.id() || weight.id() == b_.id();
  });
  return own;
}

Tensor Lora::saved_value(const Variable& weight) const {
  if (weight.id() != weight_.id()) return weight.stored();
  return sum_of(weight_.stored(), added_in_file());
}

void Lora::weights_loaded() {
  for (const Variable& variable : {a_, b_}) {
    variable.store(ops::zeros(variable.shape(), variable.dtype()));
  }
}

}  // namespace cornu::layers
