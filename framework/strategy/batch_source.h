// SPDX-License-Identifier: Apache-2.0
// Where training gets its batches from: what `fit` consumes, and strategies shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensors.h"

namespace cornu {

// What one training step works on: axis 0 of every tensor counts the examples. `y` and
// `sample_weight` are empty where there are none. A single sample weight is for all outputs. A
// batch of zero examples is allowed.
struct Batch {
  Tensors x;
  Tensors y;
  Tensors sample_weight;
};

// Rows [begin, end) of all its tensors, which are shared with it; scalars are as they are.
// InvalidArgument where they have different numbers of rows, as elements that aren't batched do.
Batch rows_of(const Batch& batch, int64_t begin, int64_t end);
// Its examples: 0 where it has no tensors.
int64_t examples_of(const Batch& batch);
// The same, by the names that streams of rows know them by.
inline int64_t row_count(const Batch& batch) { return examples_of(batch); }
inline Batch rows_between(const Batch& batch, int64_t begin, int64_t end) {
  return rows_of(batch, begin, end);
}

// The cardinality of a source that never ends (tf.data.INFINITE_CARDINALITY).
inline constexpr int64_t kInfiniteCardinality = -1;

// One pass over a source, which it keeps alive. Used by one thread at a time. It may work ahead on
// threads of its own, which never enter OpenMP and end with it.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;

  // Fills `batch` and returns true, or returns false at the end. Errors of the source (and of its
  // threads) are thrown here; after one, the iterator is good for save() only.
  virtual bool next(Batch& batch) = 0;

  // The exact position: after the batch that next() gave last, however far threads have worked
  // ahead. It tells passes apart, so that a restored run shuffles its later passes as the first run
  // would have. Small: it holds no elements.
  virtual Json save() const = 0;
  // Moves an iterator that has just been made to a saved position, also to one at the end.
  // FailedPrecondition when the position belongs to another source.
  virtual void restore(const Json& position) = 0;
  // The same, where the position may also be that of a source which differs in the size of its
  // batches alone: moves behind as many examples as can be told, with a warning that says how many.
  virtual void restore_examples(const Json& position) { restore(position); }
};

// An immutable description of batches; cheap to hold and thread-safe. Each iterate() is a new pass,
// which may come in another order than the last.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  virtual std::unique_ptr<BatchIterator> iterate() const = 0;

  // Batches in a pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  virtual std::optional<int64_t> cardinality() const = 0;

  // What must be the same on all workers that share its batches, by name: what it consists of, the
  // kind of its elements, how many there are, what they hold. To be compared, not for reading back.
  virtual Json facts() const { return Json::object(); }

  // What decides in which order later passes come, for workers to have the same: seeds that were
  // drawn where none were given, then the number of the next pass. None where each may have its
  // own. Seeds that are set are also those of what this source was made of. InvalidArgument unless
  // there are as many.
  virtual std::vector<uint64_t> order_keys() const { return {}; }
  virtual void set_order_keys(const std::vector<uint64_t>& keys) const;

  // Part `index` of `count` of this source, as its auto-shard policy says; by default every
  // `count`-th batch from batch `index` on. All parts have equally many batches, so that workers
  // take as many steps: one that has run out gives a batch of no examples. InvalidArgument unless
  // 0 <= index < count.
  virtual std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const = 0;

  // Each batch as this many ones, as even as they can be: the first parts have an example more
  // where they differ, and where there are fewer examples than parts, the last ones are empty. So
  // `divide(n)->shard(n, i)` gives n workers the parts of one global batch in the same step.
  // InvalidArgument unless parts >= 1.
  virtual std::shared_ptr<BatchSource> divide(int64_t parts) const = 0;

  // The same batches in another order in each pass, for sources whose order is fit's `shuffle`'s to
  // choose; null: it is their own.
  virtual std::shared_ptr<BatchSource> shuffled() const { return nullptr; }

  // What another process makes the same source of (read_batch_source). FailedPrecondition, with the
  // reason, for what can't travel: by default, anything.
  virtual std::string to_bytes() const;
};

// The source again; errors name what is wrong with the bytes. Defined by framework/registration,
// which knows the kinds of sources.
std::shared_ptr<BatchSource> read_batch_source(std::string_view bytes);

}  // namespace cornu
