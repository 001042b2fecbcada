// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/batch_source.h"

namespace cornu {
namespace {

Tensors rows_of(const Tensors& tensors, int64_t begin, int64_t end) {
  std::vector<Tensor> rows;
  for (const Tensor& tensor : tensors) {
    rows.push_back(tensor.rank() == 0 ? tensor : tensor.rows(begin, end));
  }
  return tensors.with(std::move(rows));
}

}  // namespace

Batch rows_of(const Batch& batch, int64_t begin, int64_t end) {
  return {.x = rows_of(batch.x, begin, end),
          .y = rows_of(batch.y, begin, end),
          .sample_weight = rows_of(batch.sample_weight, begin, end)};
}

int64_t examples_of(const Batch& batch) {
  for (const Tensors* part : {&batch.x, &batch.y, &batch.sample_weight}) {
    for (const Tensor& tensor : *part) {
      if (tensor.rank() > 0) return tensor.dim(0);
    }
  }
  return 0;
}

}  // namespace cornu
