// SPDX-License-Identifier: Apache-2.0
// Batches computed by index by a user-defined class.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "framework/strategy/batch_source.h"

namespace cornu::data {

struct PyDatasetOptions {
  // Number of batches computed in parallel, ahead of training, by the data threads that all
  // pipelines share. 1: one after another, on the training thread.
  int64_t workers = 1;
  int64_t max_queue_size = 10;  // maximum number of batches that are ready and waiting, with
                                // several workers
};

// keras.utils.PyDataset (formerly Sequence): derive from it, and pass an object made by
// std::make_shared to fit, evaluate or predict.
//
//   class Pictures : public data::PyDataset {
//    public:
//     Pictures() : PyDataset({.workers = 4}) {}
//     int64_t num_batches() const override { return 100; }
//     Batch get_item(int64_t index) override { return {read(index), labels(index)}; }
//   };
//   model.fit(std::make_shared<Pictures>(), {.epochs = 5});
//
// As in Keras, fit takes the batches in a different order in each epoch unless its `shuffle` is
// false; evaluate and predict take them in order. A resumed run, and workers that train on parts,
// request only the batches they train on (and batch 0), so get_item(i) must always return the same
// batch: changes made by on_epoch_end aren't part of a run's state. Throws InvalidArgument for
// fewer than 1 worker, a queue of less than 1, fewer than 0 batches, and a batch without x or whose
// dtypes, ranks or parts differ from those of batch 0. Errors thrown by the functions name the
// batch. Throws FailedPrecondition for an object that isn't owned by a shared_ptr.
class PyDataset : public BatchSource, public std::enable_shared_from_this<PyDataset> {
 public:
  explicit PyDataset(const PyDatasetOptions& options = {});

  // Called once for the batches in order, and once for the shuffled batches. kInfiniteCardinality:
  // the batches never end and aren't shuffled (steps_per_epoch then sets the number per epoch).
  virtual int64_t num_batches() const = 0;
  // Keras's __getitem__: returns x, y if there are targets, and sample_weight if there are weights.
  // With several workers, several threads call it concurrently. Batch 0 is requested additionally,
  // to determine the batches' types.
  virtual Batch get_item(int64_t index) = 0;
  // Called on the training thread, before the first batch of a pass is computed and after the last
  // one has been taken.
  virtual void on_epoch_begin() {}
  virtual void on_epoch_end() {}

  // ---- BatchSource ----
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
  mutable std::recursive_mutex mutex_;  // guards the members below
  mutable bool learning_ = false;       // a thread is determining the batches' types
  // In order, and shuffled; created on first use. They don't keep this object alive.
  mutable std::shared_ptr<BatchSource> batches_[2];
};

}  // namespace cornu::data
