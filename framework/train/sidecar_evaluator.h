// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "framework/core/stop_signals.h"
#include "framework/strategy/batch_source.h"
#include "framework/train/model.h"

namespace cornu {

struct SidecarEvaluatorOptions {
  // Where training writes the files to evaluate: .weights.h5 and .keras files (e.g. by
  // ModelCheckpoint), Keras 2's .h5 files, and checkpoints of a CheckpointManager that contain a
  // "model", or a "model" and an "optimizer". The directory needn't exist yet.
  std::string checkpoint_dir;
  std::optional<int64_t> steps = {};  // batches per evaluation; None: all
  // Number of evaluations after which start() returns; None: unlimited.
  std::optional<int64_t> max_evaluations = {};
  Callbacks callbacks = {};  // for each evaluation; TensorBoard logs by optimizer iterations
  Verbose verbose = "auto";
  // Called before each look into the directory; if it returns true, start() returns.
  std::function<bool()> until = {};
  double seconds_between_looks = 1;
};

// Evaluates checkpoints while training continues elsewhere: the evaluator task of a cluster
// (tf.keras.utils.SidecarEvaluator).
//
//   SidecarEvaluator(model, dataset, {.checkpoint_dir = "run"}).start();
//
// The model must be compiled and constructed like the one being trained.
class SidecarEvaluator {
 public:
  // Throws InvalidArgument without a checkpoint_dir, and for out-of-range counts and seconds.
  SidecarEvaluator(Model model, std::shared_ptr<BatchSource> data, SidecarEvaluatorOptions options);

  // Loads and evaluates the newest file whenever there is a new one, or one of the same name
  // changes; older files that appeared in between are skipped. A damaged or incomplete file is
  // retried, with a single warning. Returns the last evaluation's results. On SIGTERM, which a
  // launcher sends when training is done, evaluates what is there by then, too, and exits the
  // process with kTerminatedExitCode; on SIGINT, throws Interrupted. Other errors are those of
  // Model::load_weights (also for another model's file), Checkpoint::restore and Model::evaluate.
  Logs start();

 private:
  struct File {
    std::string path;
    int64_t changed = 0;  // modification time in nanoseconds
    uint64_t bytes = 0;
    bool operator==(const File&) const = default;
  };
  std::optional<File> newest() const;
  bool load(const File& file);
  void warn(const File& file, const Error& error);
  Logs evaluate_what_comes();
  bool is_told_to_end();
  void wait() const;

  Model model_;
  std::shared_ptr<BatchSource> data_;
  SidecarEvaluatorOptions options_;
  std::optional<File> unread_;  // the file that couldn't be read
  std::optional<StopSignals> signals_;
  bool ends_ = false;
};

}  // namespace cornu
