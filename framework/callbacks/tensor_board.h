// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

// "epoch", "batch", or a number of batches.
class UpdateFrequency {
 public:
  UpdateFrequency(const char* text);  // NOLINT: implicit on purpose; InvalidArgument otherwise
  UpdateFrequency(int64_t batches);   // NOLINT: InvalidArgument below 1
  UpdateFrequency(int batches) : UpdateFrequency(static_cast<int64_t>(batches)) {}  // NOLINT
  std::optional<int64_t> batches() const { return batches_; }  // nullopt: at the end of each epoch

 private:
  std::optional<int64_t> batches_;
};

// 0 for none; a training batch, counted from 1; or a first and a last one: {10, 20}.
class ProfiledBatches {
 public:
  ProfiledBatches(int64_t batch) : ProfiledBatches(batch, batch) {}             // NOLINT: implicit
  ProfiledBatches(int batch) : ProfiledBatches(static_cast<int64_t>(batch)) {}  // NOLINT
  // Throws InvalidArgument for negative numbers, or when the last one is before the first.
  ProfiledBatches(int64_t first, int64_t last);
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }
  bool any() const { return last_ > 0; }

 private:
  int64_t first_;
  int64_t last_;
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  int64_t histogram_freq = 0;  // epochs between histograms of the weights; 0: none
  bool write_graph = true;
  bool write_images = false;  // write the weights as images along with the histograms
  bool write_steps_per_second = false;
  UpdateFrequency update_freq = "epoch";  // how often to record batches, in addition to epochs
  ProfiledBatches profile_batch = 0;
  int64_t embeddings_freq = 0;  // epochs between embeddings for the projector; 0: none
  // By the name of the Embedding layer: a file of labels, one line per row, relative to
  // log_dir/train. {"": file} if there is only one such layer.
  std::map<std::string, std::string> embeddings_metadata = {};
};

// Writes logs for TensorBoard (keras.callbacks.TensorBoard): `tensorboard --logdir=logs`. Each fit
// or evaluate begins new files, in log_dir/train and log_dir/validation:
//
//   epoch_<metric>, epoch_learning_rate, epoch_steps_per_second       by epoch, counted from 0
//   batch_<metric>, batch_steps_per_second                            by batch of this fit, from 1
//   evaluation_<metric>_vs_iterations                                 by the optimizer's iterations
//   <path of weight>/histogram, <path of weight>/image                by epoch
//   projector_config.pbtxt, <path of weight>.tsv                      last of each Embedding layer
//   keras (the model's config, for the conceptual graph), and a graph of the layers
//
//   plugins/profile/<time>/<host>.xplane.pb, .trace.json.gz           of profile_batch, below train
//
// The conceptual graph and the graph of the layers are written for functional and Sequential
// models. A profile has every instruction of the compiled steps, with the layer it comes from: the
// first file is for TensorBoard's profile plugin (the package tensorboard-plugin-profile), the
// second for ui.perfetto.dev and chrome://tracing. Batches that aren't profiled aren't measured,
// either. Epochs and evaluations are recorded regardless of update_freq; Keras 3.15 omits those
// that end after a batch that isn't recorded. A resumed run continues counting batches, so its
// curves continue, too; what was recorded after the state was saved appears twice, with the same
// values. Everything recorded by a method of the callback is passed to the operating system before
// it returns. In a distributed job, only the chief writes.
//
// Throws InvalidArgument for negative numbers. Throws FailedPrecondition when training (or an
// evaluation outside of it) begins and files can't be written to log_dir; later failures, e.g.
// because the disk is full, only log a warning, and events are dropped until they can be written
// again.
class TensorBoard final : public CallbackHandle {
 public:
  explicit TensorBoard(const TensorBoardOptions& options = {});
};

}  // namespace cornu::callbacks
