// SPDX-License-Identifier: Apache-2.0
#include "layers/core/lora.h"

namespace cornu::layers {
namespace {

Tensor low_rank_sum(const Tensor& x, const Tensor& a, const Tensor& b, double scale) {
  return x + ops::cast(ops::matmul(a, b) * scale, x.dtype());
}

}  // namespace

Tensor Lora::sum() const { return low_rank_sum(weight_, a_, b_, scale_); }

Tensor Lora::rows_at(const Tensor& indices) const {
  return low_rank_sum(ops::take(weight_, indices, 0), ops::take(a_, indices, 0), b_, scale_);
}

bool Lora::is_saved(const Variable& weight) const {
  return weight.id() != a_.id() && weight.id() != b_.id();
}

Tensor Lora::saved_value(const Variable& weight) const {
  if (weight.id() != weight_.id()) return weight.stored();
  return low_rank_sum(weight_.stored(), a_.stored(), b_.stored(), scale_);
}

void Lora::weights_loaded() {
  for (const Variable& variable : {a_, b_}) {
    variable.store(ops::zeros(variable.shape(), variable.dtype()));
  }
}

}  // namespace cornu::layers
