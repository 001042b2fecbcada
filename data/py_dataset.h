// SPDX-License-Identifier: Apache-2.0
// Batches that a class of the program's makes by number.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "framework/strategy/batch_source.h"

namespace cornu::data {

struct PyDatasetOptions {
  // Batches made at a time, ahead of training, by the data threads that all pipelines share. 1: one
  // after another, by the thread that trains.
  int64_t workers = 1;
  int64_t max_queue_size = 10;  // batches that are ready and wait, with several workers
};

// keras.utils.PyDataset (once Sequence): derive from it, and give fit, evaluate or predict an
// object that std::make_shared has made.
//
//   class Pictures : public data::PyDataset {
//    public:
//     Pictures() : PyDataset({.workers = 4}) {}
//     int64_t num_batches() const override { return 100; }
//     Batch get_item(int64_t index) override { return {read(index), labels(index)}; }
//   };
//   model.fit(std::make_shared<Pictures>(), {.epochs = 5});
//
// fit takes the batches in another order in each epoch unless its `shuffle` is false, as Keras
// does; evaluate and predict in theirs. A run that is resumed, and workers that take parts, ask for
// the batches that they train on alone (and batch 0), so that get_item(i) must give the same as
// before: what on_epoch_end changes isn't in a run's state. Of InvalidArgument: fewer workers than
// 1, a queue of less than 1, fewer than 0 batches, a batch without x or of other dtypes, ranks or
// parts than batch 0. Errors of the functions name the batch. FailedPrecondition for an object that
// no shared_ptr owns.
class PyDataset : public BatchSource, public std::enable_shared_from_this<PyDataset> {
 public:
  explicit PyDataset(const PyDatasetOptions& options = {});

  // Asked for once; kInfiniteCardinality: they never end, and their order is their own
  // (steps_per_epoch then says how many an epoch has).
  virtual int64_t num_batches() const = 0;
  // Keras's __getitem__: x, y where there are targets, sample_weight where there are such. Several
  // threads call it at once where there are several workers, and batch 0 is asked for once more, to
  // learn what the batches are.
  virtual Batch get_item(int64_t index) = 0;
  // Called by the thread that trains, before the first batch of a pass is made and when the last
  // one has been taken.
  virtual void on_epoch_begin() {}
  virtual void on_epoch_end() {}

  // ---- as what training reads ----
  std::unique_ptr<BatchIterator> iterate() const override;
  std::optional<int64_t> cardinality() const override;
  Json facts() const override;
  std::vector<uint64_t> order_keys() const override;
  void set_order_keys(const std::vector<uint64_t>& keys) const override;
  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override;
  std::shared_ptr<BatchSource> divide(int64_t parts) const override;
  std::shared_ptr<BatchSource> shuffled() const override;

 private:
  std::shared_ptr<BatchSource> source(bool shuffled) const;

  PyDatasetOptions options_;
  mutable std::recursive_mutex mutex_;  // guards what follows
  mutable bool learning_ = false;       // a thread finds out what the batches are
  // In order, and shuffled; made when they are first asked for. They don't keep this.
  mutable std::shared_ptr<BatchSource> batches_[2];
};

}  // namespace cornu::data
