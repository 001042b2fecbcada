// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/distributed_dataset.h"

#include "framework/strategy/strategy.h"

namespace cornu::distribute {
namespace {

// x, y and sample weights as one list; named where x alone is there and has names.
Tensors joined(const Batch& batch) {
  if (batch.y.empty() && batch.sample_weight.empty()) return batch.x;
  std::vector<Tensor> tensors = batch.x.list();
  for (const Tensors* part : {&batch.y, &batch.sample_weight}) {
    tensors.insert(tensors.end(), part->begin(), part->end());
  }
  return tensors;
}

}  // namespace

DistributedDataset::Iterator DistributedDataset::begin() const {
  Iterator iterator;
  iterator.strategy_ = strategy_;
  iterator.batches_ = source_->iterate();
  iterator.divided_ = divided_;
  iterator.advance();
  return iterator;
}

std::optional<int64_t> DistributedDataset::cardinality() const {
  const std::optional<int64_t> batches = source_->cardinality();
  if (divided_ == Divided::No || !batches || *batches == kInfiniteCardinality) return batches;
  const auto replicas = static_cast<int64_t>(strategy_->devices().size());
  return (*batches + replicas - 1) / replicas;
}

// Empty at the end.
std::vector<Batch> DistributedDataset::Iterator::next_parts() {
  Batch batch;
  if (!batches_->next(batch)) return {};
  if (divided_ == Divided::No) return strategy_->split(batch);
  std::vector<Batch> parts = {batch};
  while (parts.size() < strategy_->devices().size()) {
    parts.push_back(batches_->next(batch) ? batch : rows_of(parts.front(), 0, 0));
  }
  return parts;
}

void DistributedDataset::Iterator::advance() {
  check<OutOfRange>(
      batches_ != nullptr,
      "DistributedDataset: an iterator at the end was moved on. Compare it with end().");
  std::vector<Tensors> parts;
  for (const Batch& part : next_parts()) parts.push_back(joined(part));
  if (parts.empty()) batches_.reset();
  batch_ = PerReplica(std::move(parts));
}

}  // namespace cornu::distribute
