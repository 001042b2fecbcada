// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/core/json.h"
#include "framework/strategy/batch_source.h"
#include "framework/strategy/per_replica.h"

namespace cornu {

class StrategyImpl;

namespace distribute {

// All workers have a source's batches in one order: that of the worker which has been through most
// passes (of worker 0, where all are alike). Called by all, each with its part, before a pass.
void agree_on_order(StrategyImpl& strategy, const BatchSource& source);

// Whether a batch is one replica's part already, instead of being divided between all.
enum class Divided { No, Yes };

// One pass over a DistributedDataset (tf.distribute.DistributedIterator), which it keeps alive.
// Used by one thread at a time.
class DistributedIterator {
 public:
  DistributedIterator(std::shared_ptr<StrategyImpl> strategy, std::unique_ptr<BatchIterator> source,
                      Divided divided)
      : strategy_(std::move(strategy)), source_(std::move(source)), divided_(divided) {}

  // The next batch's parts; false at the end. Errors of the dataset are thrown here.
  bool next(PerReplica& batch);

  // The exact position: behind the batch that next() gave last. What a Checkpoint holds.
  Json save() const;
  // On a new iterator only. FailedPrecondition when the position is another dataset's, or was saved
  // for another number of replicas where batches are one replica's each.
  void restore(const Json& position);

 private:
  std::vector<Batch> next_parts();

  std::shared_ptr<StrategyImpl> strategy_;
  std::unique_ptr<BatchIterator> source_;
  Divided divided_;
};

// Batches in parts by replica (tf.distribute.DistributedDataset): x, y and sample weights, each
// with its names, are the arguments of a step. The last batch may give replicas fewer examples than
// others, or none. Each pass begins anew. A cheap handle.
//
//   for (const distribute::PerReplica& batch : strategy.distribute_dataset(dataset)) {
//     strategy.run(step, batch);
//   }
class DistributedDataset {
 public:
  DistributedDataset(std::shared_ptr<StrategyImpl> strategy, std::shared_ptr<BatchSource> source,
                     Divided divided)
      : strategy_(std::move(strategy)), source_(std::move(source)), divided_(divided) {}

  // A new pass.
  DistributedIterator iterator() const;

  // What range-for goes through: a new pass, a batch at a time.
  class Cursor;
  Cursor begin() const;
  std::default_sentinel_t end() const { return {}; }
  // Steps in a pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  std::optional<int64_t> cardinality() const;

 private:
  std::shared_ptr<StrategyImpl> strategy_;
  std::shared_ptr<BatchSource> source_;
  Divided divided_;
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
