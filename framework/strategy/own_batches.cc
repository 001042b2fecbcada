// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/own_batches.h"

#include <utility>
#include <vector>

#include "framework/strategy/replica_batches.h"
#include "framework/strategy/source_over.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {
namespace {

class OwnBatchesIterator : public BatchIterator {
 public:
  explicit OwnBatchesIterator(ReplicaBatches batches) : batches_(std::move(batches)) {}

  bool next(Batch& batch) override {
    std::vector<Batch> one = batches_.next();
    if (one.empty()) return false;
    batch = std::move(one.front());
    return true;
  }
  Json save() const override { return batches_.save(); }
  void restore(const Json& position) override { batches_.restore(position); }
  void restore_examples(const Json& position) override { batches_.restore_examples(position); }

 private:
  ReplicaBatches batches_;
};

class OwnBatches : public SourceOver {
 public:
  OwnBatches(std::shared_ptr<StrategyImpl> strategy, std::shared_ptr<BatchSource> source)
      : SourceOver(std::move(source)), strategy_(std::move(strategy)) {}

  std::unique_ptr<BatchIterator> iterate() const override {
    return std::make_unique<OwnBatchesIterator>(
        ReplicaBatches(strategy_, source()->iterate(), is_endless(), 1));
  }
  std::optional<int64_t> cardinality() const override {
    return is_endless() ? std::optional(kInfiniteCardinality) : std::nullopt;
  }
  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    return make_own_batches(strategy_, source()->shard(count, index));
  }
  std::shared_ptr<BatchSource> divide(int64_t parts) const override {
    return make_own_batches(strategy_, source()->divide(parts));
  }

 private:
  bool is_endless() const { return source()->cardinality() == kInfiniteCardinality; }

  std::shared_ptr<StrategyImpl> strategy_;
};

}  // namespace

std::shared_ptr<BatchSource> make_own_batches(std::shared_ptr<StrategyImpl> strategy,
                                              std::shared_ptr<BatchSource> source) {
  return std::make_shared<OwnBatches>(std::move(strategy), std::move(source));
}

}  // namespace cornu::distribute
