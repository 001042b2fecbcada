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
  // Where training leaves what is evaluated: .weights.h5 and .keras files (ModelCheckpoint's, say),
  // Keras 2's .h5, and the checkpoints of a CheckpointManager that have a "model", or a "model" and
  // an "optimizer". It needn't be there yet.
  std::string checkpoint_dir;
  std::optional<int64_t> steps = {};  // batches of each evaluation; none: all
  // After how many evaluations start() returns; none: never.
  std::optional<int64_t> max_evaluations = {};
  Callbacks callbacks = {};  // of each evaluation; TensorBoard logs by the optimizer's iterations
  Verbose verbose = "auto";
  // Asked before each look into the folder: returns start() where it says so.
  std::function<bool()> until = {};
  double seconds_between_looks = 1;
};

// Evaluates what training writes while it goes on elsewhere: the evaluator task of a cluster
// (tf.keras.utils.SidecarEvaluator).
//
//   SidecarEvaluator(model, dataset, {.checkpoint_dir = "run"}).start();
//
// The model is compiled, and made as the one that is trained.
class SidecarEvaluator {
 public:
  // InvalidArgument without a checkpoint_dir, or for counts and seconds below what makes sense.
  SidecarEvaluator(Model model, std::shared_ptr<BatchSource> data, SidecarEvaluatorOptions options);

  // Loads and evaluates the newest file whenever there is a new one, or another one of its name;
  // older ones that came meanwhile are left out. A file that is damaged, or not complete yet, is
  // tried again; a warning says so once. Returns the last evaluation's results. SIGTERM, which a
  // launcher sends when training is done, ends the process (with kTerminatedExitCode) when what is
  // there by then has been evaluated, too; SIGINT ends it with Interrupted. Errors as
  // Model::load_weights (so for another model's file), Checkpoint::restore and Model::evaluate.
  Logs start();

 private:
  struct File {
    std::string path;
    int64_t changed = 0;  // nanoseconds
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
  std::optional<File> unread_;  // what couldn't be read
  std::optional<StopSignals> signals_;
  bool ends_ = false;
};

}  // namespace cornu
