// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "framework/core/json.h"
#include "framework/strategy/batch_source.h"
#include "framework/strategy/per_replica.h"
#include "framework/strategy/replica_batches.h"

namespace cornu {

class StrategyImpl;

namespace distribute {

// All workers have a source's batches in one order: that of the worker which has been through most
// passes (of worker 0, where all are alike). Called by all, each with its part, before a pass.
void agree_on_order(StrategyImpl& strategy, const BatchSource& source);

// One pass over a DistributedDataset (tf.distribute.DistributedIterator), which it keeps alive.
// Used by one thread at a time.
class DistributedIterator {
 public:
  // Of global batches, or of batches of one replica's size each.
  DistributedIterator(std::shared_ptr<StrategyImpl> strategy, std::unique_ptr<BatchIterator> global)
      : strategy_(std::move(strategy)), batches_(std::move(global)) {}
  DistributedIterator(std::shared_ptr<StrategyImpl> strategy, ReplicaBatches batches)
      : strategy_(std::move(strategy)), batches_(std::move(batches)) {}

  // The next batch's parts; false at the end. Errors of the dataset are thrown here. Where each of
  // several workers has batches of its own, all call it together: those that have run out get parts
  // without examples until all have.
  bool next(PerReplica& batch);
  // The same as batches; none at the end.
  std::vector<Batch> next_parts();

  // The exact position: behind the batch that next() gave last. What a Checkpoint holds.
  Json save() const;
  // On a new iterator only. DataLoss for what isn't a position; FailedPrecondition when it is
  // another dataset's, or was saved for another number of replicas or workers where batches are one
  // replica's each.
  void restore(const Json& position);

 private:
  std::shared_ptr<StrategyImpl> strategy_;
  std::variant<std::unique_ptr<BatchIterator>, ReplicaBatches> batches_;
};

// Batches in parts by replica (tf.distribute.DistributedDataset): x, y and sample weights, each
// with its names, are the arguments of a step. The last batches may give replicas fewer examples
// than others, or none. Each pass begins anew. A cheap handle.
//
//   for (const distribute::PerReplica& batch : strategy.distribute_dataset(dataset)) {
//     strategy.run(step, batch);
//   }
//
// A model that was made in the strategy's scope takes it as it takes datasets, and goes through
// this worker's parts: model.fit(strategy.distribute_datasets_from_function(…)). What predict gives
// is of these alone; where workers have batches of their own, all call it together.
class DistributedDataset {
 public:
  // What `strategy` gives this worker of the global batches of `dataset`.
  static DistributedDataset of_global(std::shared_ptr<StrategyImpl> strategy,
                                      std::shared_ptr<BatchSource> dataset);
  // Batches of one replica's size, of which each worker has its own.
  static DistributedDataset of_replicas(std::shared_ptr<StrategyImpl> strategy,
                                        std::shared_ptr<BatchSource> own);

  // A new pass.
  DistributedIterator iterator() const;

  // What range-for goes through: a new pass, a batch at a time.
  class Cursor;
  Cursor begin() const;
  std::default_sentinel_t end() const { return {}; }
  // Steps in a pass: nullopt when unknown, as where several workers have batches of their own;
  // kInfiniteCardinality when it never ends.
  std::optional<int64_t> cardinality() const;

  // What fit and evaluate take. FailedPrecondition, when a pass begins, in another strategy's
  // scope.
  operator std::shared_ptr<BatchSource>() const;  // NOLINT: implicit on purpose

 private:
  class Source;

  DistributedDataset(std::shared_ptr<StrategyImpl> strategy, std::shared_ptr<BatchSource> own,
                     std::shared_ptr<BatchSource> global)
      : strategy_(std::move(strategy)), own_(std::move(own)), global_(std::move(global)) {}

  std::shared_ptr<StrategyImpl> strategy_;
  std::shared_ptr<BatchSource> own_;     // this worker's part
  std::shared_ptr<BatchSource> global_;  // null: batches are one replica's each
};

class DistributedDataset::Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = PerReplica;
  using difference_type = std::ptrdiff_t;
  using pointer = const PerReplica*;
  using reference = const PerReplica&;

  explicit Cursor(DistributedIterator iterator) : iterator_(std::move(iterator)) { ++*this; }
  reference operator*() const { return batch_; }
  pointer operator->() const { return &batch_; }
  // OutOfRange at the end.
  Cursor& operator++();
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return ended_; }

 private:
  DistributedIterator iterator_;
  PerReplica batch_;
  bool ended_ = false;
};

inline DistributedDataset::Cursor DistributedDataset::begin() const { return Cursor(iterator()); }

}  // namespace distribute
}  // namespace cornu
