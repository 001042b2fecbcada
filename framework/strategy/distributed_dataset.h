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

// Makes all workers use the same order of a source's batches: that of the worker that has completed
// the most passes (of worker 0 if there is no difference). Called by all workers, each with its own
// shard, before a pass.
void agree_on_order(StrategyImpl& strategy, const BatchSource& source);

// One pass over a DistributedDataset (tf.distribute.DistributedIterator), which it keeps alive.
// Used by one thread at a time.
class DistributedIterator {
 public:
  // For global batches, or for per-replica batches.
  DistributedIterator(std::shared_ptr<StrategyImpl> strategy, std::unique_ptr<BatchIterator> global)
      : strategy_(std::move(strategy)), batches_(std::move(global)) {}
  DistributedIterator(std::shared_ptr<StrategyImpl> strategy, ReplicaBatches batches)
      : strategy_(std::move(strategy)), batches_(std::move(batches)) {}

  // Gets the next batch's parts; returns false at the end. Throws the dataset's errors. If each of
  // several workers has its own batches, all must call it together: those that have run out get
  // parts without examples until all have.
  bool next(PerReplica& batch);
  // The same as batches; empty at the end.
  std::vector<Batch> next_parts();

  // The exact position: after the batch that next() returned last. Saved by a Checkpoint.
  Json save() const;
  // On a new iterator only. Throws DataLoss for anything that isn't a position, and
  // FailedPrecondition when the position is another dataset's, or was saved with another number of
  // replicas or workers and batches are per replica.
  void restore(const Json& position);

 private:
  std::shared_ptr<StrategyImpl> strategy_;
  std::variant<std::unique_ptr<BatchIterator>, ReplicaBatches> batches_;
};

// Batches in parts by replica (tf.distribute.DistributedDataset): x, y and sample weights, each
// with its names, are the arguments of a step. In the last batches, some replicas may have fewer
// examples than others, or none. Each pass starts from the beginning. A cheap handle.
//
//   for (const distribute::PerReplica& batch : strategy.distribute_dataset(dataset)) {
//     strategy.run(step, batch);
//   }
//
// A model created in the strategy's scope accepts it like any dataset, and iterates over this
// worker's parts: model.fit(strategy.distribute_datasets_from_function(…)). The results of predict
// cover only these; if workers have their own batches, all must call it together.
class DistributedDataset {
 public:
  // This worker's part of the global batches of `dataset`, as assigned by `strategy`.
  static DistributedDataset of_global(std::shared_ptr<StrategyImpl> strategy,
                                      std::shared_ptr<BatchSource> dataset);
  // Per-replica batches, of which each worker has its own.
  static DistributedDataset of_replicas(std::shared_ptr<StrategyImpl> strategy,
                                        std::shared_ptr<BatchSource> own);

  // Starts a new pass.
  DistributedIterator iterator() const;

  // Iterates over a new pass in a range-based for loop, one batch at a time.
  class Cursor;
  Cursor begin() const;
  std::default_sentinel_t end() const { return {}; }
  // Steps per pass: nullopt when unknown, e.g. when several workers have their own batches;
  // kInfiniteCardinality when it never ends.
  std::optional<int64_t> cardinality() const;

  // The source for fit and evaluate. Starting a pass in another strategy's scope throws
  // FailedPrecondition.
  operator std::shared_ptr<BatchSource>() const;  // NOLINT: implicit on purpose

 private:
  class Source;

  DistributedDataset(std::shared_ptr<StrategyImpl> strategy, std::shared_ptr<BatchSource> own,
                     std::shared_ptr<BatchSource> global)
      : strategy_(std::move(strategy)), own_(std::move(own)), global_(std::move(global)) {}

  std::shared_ptr<StrategyImpl> strategy_;
  std::shared_ptr<BatchSource> own_;     // this worker's part
  std::shared_ptr<BatchSource> global_;  // null: batches are per replica
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
  // Throws OutOfRange at the end.
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
