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
  std::optional<int64_t> batches() const { return batches_; }  // None: at the end of each epoch

 private:
  std::optional<int64_t> batches_;
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  int64_t histogram_freq = 0;  // histograms of the weights every so many epochs; 0: none
  bool write_graph = true;
  bool write_images = false;  // the weights as pictures, when histograms are written
  bool write_steps_per_second = false;
  UpdateFrequency update_freq = "epoch";  // how often batches are recorded, besides epochs
  int64_t profile_batch = 0;              // Unimplemented for others
  int64_t embeddings_freq = 0;  // embeddings for the projector every so many epochs; 0: none
  // By the name of the Embedding layer: a file of labels, one line a row, relative to
  // log_dir/train. {"": file} where there is one such layer.
  std::map<std::string, std::string> embeddings_metadata = {};
};

// Writes what TensorBoard shows (keras.callbacks.TensorBoard): `tensorboard --logdir=logs`. Each
// fit or evaluate begins new files, in log_dir/train and log_dir/validation:
//
//   epoch_<metric>, epoch_learning_rate, epoch_steps_per_second       by epoch, counted from 0
//   batch_<metric>, batch_steps_per_second                            by batch of this fit, from 1
//   evaluation_<metric>_vs_iterations                                 by the optimizer's iterations
//   <path of weight>/histogram, <path of weight>/image                by epoch
//   projector_config.pbtxt, embeddings of each Embedding layer as <weight's path>.tsv: the last
//   ones keras (the model's config, for the conceptual graph), and a graph of the layers
//
// The last two of functional and Sequential models. Epochs and evaluations are recorded whatever
// update_freq is; Keras 3.15 leaves out those that end after a batch that isn't. A run that resumes
// counts batches on, so its curves go on, too; what was recorded after the state was kept is there
// twice, with the same values. All that a method of the callback records is given to the system
// before it returns. Of the processes of a distributed job the chief alone writes.
//
// InvalidArgument for negative numbers. FailedPrecondition when training (or an evaluation outside
// of it) begins and files can't be written to log_dir; later, say when the disk is full, that is a
// warning, and events are left out until they can be written again.
class TensorBoard : public CallbackHandle {
 public:
  explicit TensorBoard(const TensorBoardOptions& options = {});
};

}  // namespace cornu::callbacks
