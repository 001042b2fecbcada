// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/batch_source.h"

namespace cornu {
namespace {

Tensors rows_of(const Tensors& tensors, int64_t begin, int64_t end, int64_t examples) {
  std::vector<Tensor> rows;
  for (const Tensor& tensor : tensors) {
    check<InvalidArgument>(tensor.rank() == 0 || tensor.dim(0) == examples,
                           "expected batches, whose tensors have an example in each row, got one "
                           "with a tensor of shape {} beside one of {} rows. If the dataset isn't "
                           "batched, batch it: dataset.batch(n).",
                           tensor.shape(), examples);
    rows.push_back(tensor.rank() == 0 ? tensor : tensor.rows(begin, end));
  }
  return tensors.with(std::move(rows));
}

}  // namespace

Batch rows_of(const Batch& batch, int64_t begin, int64_t end) {
  const int64_t examples = examples_of(batch);
  return {.x = rows_of(batch.x, begin, end, examples),
          .y = rows_of(batch.y, begin, end, examples),
          .sample_weight = rows_of(batch.sample_weight, begin, end, examples)};
}

int64_t examples_of(const Batch& batch) {
  for (const Tensors* part : {&batch.x, &batch.y, &batch.sample_weight}) {
    for (const Tensor& tensor : *part) {
      if (tensor.rank() > 0) return tensor.dim(0);
    }
  }
  return 0;
}

void BatchSource::set_order_keys(const std::vector<uint64_t>& keys) const {
  check<InvalidArgument>(keys.empty(), "BatchSource has no order of its own, got {} keys.",
                         keys.size());
}

std::string BatchSource::to_bytes() const {
  raise<FailedPrecondition>(
      "BatchSource: a source of this kind can't be sent to another process. Make a data::Dataset "
      "of "
      "what it has, or derive from BatchSource and override to_bytes.");
}

}  // namespace cornu
