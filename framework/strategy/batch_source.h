// SPDX-License-Identifier: Apache-2.0
// Sources of training batches, which `fit` consumes and strategies shard.
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

// The input of one training step: axis 0 of every tensor counts the examples. `y` and
// `sample_weight` are empty if there are none. A single sample weight applies to all outputs. A
// batch may have zero examples.
struct Batch {
  Tensors x;
  Tensors y;
  Tensors sample_weight;
};

// Returns rows [begin, end) of all tensors of the batch, sharing their memory; scalars are left
// unchanged. Throws InvalidArgument when the tensors have different numbers of rows, as elements
// that aren't batched do.
Batch rows_of(const Batch& batch, int64_t begin, int64_t end);
// The number of examples; 0 if the batch has no tensors.
int64_t examples_of(const Batch& batch);
// The same functions under the names that row streams use.
inline int64_t row_count(const Batch& batch) { return examples_of(batch); }
inline Batch rows_between(const Batch& batch, int64_t begin, int64_t end) {
  return rows_of(batch, begin, end);
}

// The cardinality of an infinite source (tf.data.INFINITE_CARDINALITY).
inline constexpr int64_t kInfiniteCardinality = -1;

// One pass over a source, which it keeps alive. Used by one thread at a time. It may prefetch on
// its own threads, which never enter OpenMP and end with it.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;

  // Fills `batch` and returns true, or returns false at the end. Throws the errors of the source
  // (and of its threads); after an error, only save() may be called.
  virtual bool next(Batch& batch) = 0;

  // The exact position: after the batch that next() returned last, however far threads have
  // prefetched. It identifies the pass, so that a restored run shuffles its later passes as the
  // first run would have. Small: it contains no elements.
  virtual Json save() const = 0;
  // Moves a newly created iterator to a saved position, which may be the end. Throws
  // FailedPrecondition when the position belongs to another source.
  virtual void restore(const Json& position) = 0;
  // Like restore(), but also accepts the position of a source that differs only in its batch size:
  // skips as many examples as can be determined, with a warning that says how many.
  virtual void restore_examples(const Json& position) { restore(position); }
};

// An immutable description of batches; cheap to hold and thread-safe. Each iterate() starts a new
// pass, whose order may differ from the previous one.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  virtual std::unique_ptr<BatchIterator> iterate() const = 0;

  // Batches per pass: nullopt when unknown, kInfiniteCardinality when it never ends.
  virtual std::optional<int64_t> cardinality() const = 0;

  // The properties that must be the same on all workers that share its batches, by name: its
  // structure, the kind of its elements, their number, and their contents. For comparisons only,
  // not for reading back.
  virtual Json facts() const { return Json::object(); }

  // The values that determine the order of later passes, so that workers can agree on it: the seeds
  // that were drawn because none were given, followed by the number of the next pass. Empty if each
  // worker may have its own order. Setting seeds also sets those of the sources that this one is
  // made of. Throws InvalidArgument unless the number of keys matches.
  virtual std::vector<uint64_t> order_keys() const { return {}; }
  virtual void set_order_keys(const std::vector<uint64_t>& keys) const;

  // Returns shard `index` of `count` of this source, according to its auto-shard policy; by default
  // every `count`-th batch starting at batch `index`. All shards have the same number of batches,
  // so that workers take the same number of steps: a shard that has run out yields batches without
  // examples. Throws InvalidArgument unless 0 <= index < count.
  virtual std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const = 0;

  // Divides each batch into `parts` batches, as evenly as possible: if they differ, the first parts
  // have one more example, and if there are fewer examples than parts, the last ones are empty. So
  // `divide(n)->shard(n, i)` gives n workers the parts of one global batch in the same step. Throws
  // InvalidArgument unless parts >= 1.
  virtual std::shared_ptr<BatchSource> divide(int64_t parts) const = 0;

  // The same batches in another order in each pass, for sources whose order is determined by fit's
  // `shuffle`; null for sources that determine their own order.
  virtual std::shared_ptr<BatchSource> shuffled() const { return nullptr; }

  // Serializes the source so that another process can create the same one (read_batch_source).
  // Throws FailedPrecondition, with the reason, for sources that can't be serialized: by default,
  // all of them.
  virtual std::string to_bytes() const;
};

// Deserializes a source; errors say what is wrong with the bytes. Defined by
// framework/registration, which knows the kinds of sources.
std::shared_ptr<BatchSource> read_batch_source(std::string_view bytes);

}  // namespace cornu
