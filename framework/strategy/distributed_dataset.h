// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>

#include "framework/strategy/batch_source.h"
#include "framework/strategy/per_replica.h"

namespace cornu {

class StrategyImpl;

namespace distribute {

// Whether a batch is one replica's part already, instead of being divided between all.
enum class Divided { No, Yes };

// Batches in parts by replica (tf.distribute.DistributedDataset): one tensor structure for each,
// of x, y and sample weights one after the other, as a step takes them. The last batch may give
// replicas fewer examples than others, or none. Each pass begins anew. A cheap handle.
//
//   for (const distribute::PerReplica& batch : strategy.distribute_dataset(dataset)) {
//     strategy.run(step, batch);
//   }
class DistributedDataset {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PerReplica;
    using difference_type = std::ptrdiff_t;
    using pointer = const PerReplica*;
    using reference = const PerReplica&;

    Iterator() = default;
    reference operator*() const { return batch_; }
    pointer operator->() const { return &batch_; }
    Iterator& operator++() {
      advance();
      return *this;
    }
    void operator++(int) { advance(); }
    // Both are at the end.
    bool operator==(const Iterator& other) const { return !batches_ && !other.batches_; }

   private:
    friend class DistributedDataset;
    void advance();

    std::vector<Batch> next_parts();

    std::shared_ptr<StrategyImpl> strategy_;
    std::shared_ptr<BatchIterator> batches_;
    Divided divided_ = Divided::No;
    PerReplica batch_;
  };

  DistributedDataset(std::shared_ptr<StrategyImpl> strategy, std::shared_ptr<BatchSource> source,
                     Divided divided)
      : strategy_(std::move(strategy)), source_(std::move(source)), divided_(divided) {}

  Iterator begin() const;
  Iterator end() const { return {}; }
  // Steps in a pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  std::optional<int64_t> cardinality() const;

 private:
  std::shared_ptr<StrategyImpl> strategy_;
  std::shared_ptr<BatchSource> source_;
  Divided divided_;
};

}  // namespace distribute
}  // namespace cornu
