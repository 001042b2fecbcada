// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "framework/strategy/batch_source.h"

namespace cornu {

// Iterates over a source: one pass per epoch or, with a step count, continuously across epochs.
class EpochIterator {
 public:
  EpochIterator(std::shared_ptr<BatchSource> source, std::optional<int64_t> steps)
      : source_(std::move(source)), steps_(steps) {}

  // Batches per epoch, if known.
  std::optional<int64_t> steps() const;
  // Opens a pass, unless there is one: its position can be saved then, and the next epoch reads it.
  void open();
  // Starts an epoch. With a step count, continues where the last epoch ended as long as batches are
  // left.
  void begin_epoch();
  // Starts from the first batch, as every evaluation does.
  void begin_anew();
  // Throws InvalidArgument if labels or weights are strings, unless ignore_labels() was called.
  bool next(Batch& batch);
  void ignore_labels() { ignores_labels_ = true; }
  // Sets a function to call before each batch is fetched; its exceptions propagate out of next().
  void set_interruption(std::function<void()> interruption) {
    interruption_ = std::move(interruption);
  }
  // Fetches the first batch of a separate pass. This advances the source's pass count; restore()
  // undoes that.
  bool peek(Batch& batch) const;
  int64_t done() const { return done_; }  // batches of this epoch
  // Throws InvalidArgument for an epoch that is infinite or has no steps. `steps` names the
  // argument that limits the number of batches.
  void check_finite(const char* method, const char* steps) const;

  // Saves the position (null if no pass was opened), or restores it in a pass of its own.
  // Throws FailedPrecondition when the source differs. With BatchSize::Any, the batch size may
  // differ: the position is then after the same number of examples, or at the same fraction of an
  // epoch with a step count. restore returns whether the batch size differs.
  enum class BatchSize { Same, Any };
  Json save() const;
  bool restore(const Json& position, BatchSize size = BatchSize::Same);

 private:
  void iterate();
  bool is_unread() const;
  bool has_batches_of(const Json& position) const;
  void restore_counts(const Json& position);
  void warn_of_end() const;

  std::shared_ptr<BatchSource> source_;
  std::optional<int64_t> steps_;
  std::unique_ptr<BatchIterator> iterator_;
  std::function<void()> interruption_;
  bool ignores_labels_ = false;
  bool exhausted_ = false;
  int64_t done_ = 0;
  int64_t passed_ = 0;  // batches of this pass over the source
};

}  // namespace cornu
