// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "framework/strategy/batch_source.h"

namespace cornu {

// Passes over a source: epoch by epoch, or on and on where steps are counted.
class EpochIterator {
 public:
  EpochIterator(std::shared_ptr<BatchSource> source, std::optional<int64_t> steps)
      : source_(std::move(source)), steps_(steps) {}

  // Batches of an epoch, when known.
  std::optional<int64_t> steps() const;
  // Goes on where the last epoch ended, where steps are counted and batches are left.
  void begin_epoch();
  // From the first batch, as every evaluation begins.
  void begin_anew();
  // InvalidArgument where labels or weights are strings, unless ignore_labels() was called.
  bool next(Batch& batch);
  void ignore_labels() { ignores_labels_ = true; }
  // Is called before each batch is taken; what it throws leaves next().
  void set_interruption(std::function<void()> interruption) {
    interruption_ = std::move(interruption);
  }
  // The first batch of a pass of its own, which passes count; restore() takes that back.
  bool peek(Batch& batch) const;
  int64_t done() const { return done_; }  // batches of this epoch
  // InvalidArgument for an epoch without end or without a step. `steps`: the argument that limits
  // the batches.
  void check_finite(const char* method, const char* steps) const;

  // Where it stands (null before the first batch), and back, in an iterator that has just been
  // made. FailedPrecondition when the source is another one, but for the size of its batches where
  // that may be another: then it is behind as many examples, and as far in a counted epoch. Whether
  // it is another.
  enum class BatchSize { Same, Any };
  Json save() const;
  bool restore(const Json& position, BatchSize size = BatchSize::Same);

 private:
  void iterate();
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
