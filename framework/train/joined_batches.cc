// SPDX-License-Identifier: Apache-2.0
#include "framework/train/joined_batches.h"

#include "framework/core/error.h"

namespace cornu {

void JoinedBatches::add(Tensors outputs) {
  require_joinable(outputs);
  batches_.push_back(std::move(outputs));
}

std::string JoinedBatches::name(size_t output) const {
  const std::vector<std::string> names = names_();
  return output < names.size() ? names[output] : fmt::format("output_{}", output + 1);
}

void JoinedBatches::require_joinable(const Tensors& outputs) const {
  constexpr char kRule[] = "predict joins what its batches give along the first axis";
  constexpr char kElse[] = "or call predict_on_batch on each batch";
  const Tensors& first = batches_.empty() ? outputs : batches_.front();
  const size_t number = batches_.size();
  if (outputs.size() != first.size()) {
    raise<InvalidArgument>(
        "{}: {}, but batch {} (counted from 0) gave {} outputs, and batch 0 {}. Return as many for "
        "each batch, {}.",
        who_, kRule, number, outputs.size(), first.size(), kElse);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& one = outputs[i];
    if (one.rank() == 0) {
      raise<InvalidArgument>(
          "{}: {}, but output '{}' of batch {} (counted from 0) is a scalar. Return one value an "
          "example, {}.",
          who_, kRule, name(i), number, kElse);
    }
    if (one.dtype() != first[i].dtype() || one.shape().slice(1) != first[i].shape().slice(1)) {
      raise<InvalidArgument>(
          "{}: {}, but output '{}' of batch {} (counted from 0) is {} {}, and of batch 0 {} {}. "
          "Make all axes after the first alike, for example by padding, {}.",
          who_, kRule, name(i), number, one.dtype(), one.shape(), first[i].dtype(),
          first[i].shape(), kElse);
    }
  }
}

Tensor JoinedBatches::join_rows(size_t output) const {
  int64_t rows = 0;
  for (const Tensors& batch : batches_) rows += batch[output].shape().front();
  Shape shape = batches_.front()[output].shape();
  shape[0] = rows;
  Tensor result = Tensor::empty(shape, batches_.front()[output].dtype());
  std::byte* target = result.mutable_raw();
  for (const Tensors& batch : batches_) {
    batch[output].copy_to_host(target);
    target += batch[output].bytes();
  }
  return result;
}

Tensors JoinedBatches::join() const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < batches_.front().size(); ++i) outputs.push_back(join_rows(i));
  return batches_.front().with(std::move(outputs));
}

}  // namespace cornu
