// SPDX-License-Identifier: Apache-2.0
// Batches of which each worker has its own.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "framework/core/json.h"
#include "framework/strategy/batch_source.h"

namespace cornu {

class StrategyImpl;

namespace distribute {

// A pass over a worker's own batches, with several per step: one for each of its replicas, or one
// that is divided between them. All workers take the same number of steps: one that has run out
// yields batches without rows until all have.
class ReplicaBatches {
 public:
  // `is_endless`: whether the source never ends.
  ReplicaBatches(std::shared_ptr<StrategyImpl> strategy, std::unique_ptr<BatchIterator> source,
                 bool is_endless, size_t in_step)
      : strategy_(std::move(strategy)),
        source_(std::move(source)),
        is_endless_(is_endless),
        in_step_(in_step) {}

  // The batches of the next step, in order, where necessary padded with batches without rows; empty
  // at the end. Several workers must call it together, unless all of their passes are endless.
  std::vector<Batch> next();

  Json save() const { return source_->save(); }
  void restore(const Json& position) { source_->restore(position); }
  void restore_examples(const Json& position) { source_->restore_examples(position); }

 private:
  std::vector<Batch> next_own();
  bool has_anyone(bool has_own);
  void learn_kind();
  [[noreturn]] void raise_unexpected_end() const;

  std::shared_ptr<StrategyImpl> strategy_;
  std::unique_ptr<BatchIterator> source_;
  bool is_endless_;
  size_t in_step_;
  bool all_endless_ = false;
  bool has_ended_ = false;
  std::optional<Batch> empty_;  // a batch without rows, once the kind is known
};

}  // namespace distribute
}  // namespace cornu
