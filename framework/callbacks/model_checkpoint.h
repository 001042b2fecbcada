// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "framework/callbacks/callback.h"
#include "framework/callbacks/save_frequency.h"

namespace cornu::callbacks {

struct ModelCheckpointOptions {
  // "….keras" or "….h5" ("….weights.h5" with save_weights_only), or the name of a directory,
  // without an extension, in which the file is then called model.keras or model.weights.h5. May
  // contain Python format fields for the epoch (counted from 1), the batch, and the epoch's
  // metrics:
  // "{epoch:02d}-{val_loss:.2f}".
  std::string filepath = {};
  std::string monitor = "val_loss";
  int verbose = 0;  // 1: log messages
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";  // "min", "max", or "auto": determined by the metric
  SaveFrequency save_freq = "epoch";
  std::optional<double> initial_value_threshold = {};  // must be exceeded by the first "best" value
  bool on_every_worker = false;  // save the run's state on every worker; see BackupAndRestore
};

// Saves the model during training (keras.callbacks.ModelCheckpoint). Creates directories as needed.
// At the same times it also saves the state of the run, in the directory ".<filepath's name>.run"
// next to the files: the same program, started again after it was killed, resumes from there with
// bit-identical results (see BackupAndRestore, also for SIGTERM and SIGINT). The state is removed
// at the end of training. Throws InvalidArgument for a filepath with an invalid ending or invalid
// fields. Throws FailedPrecondition when training begins if files can't be written there, before
// anything is trained.
class ModelCheckpoint final : public CallbackHandle {
 public:
  explicit ModelCheckpoint(const ModelCheckpointOptions& options);

  std::optional<double> best() const;
};

}  // namespace cornu::callbacks
