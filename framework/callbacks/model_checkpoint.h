// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "framework/callbacks/callback.h"
#include "framework/callbacks/save_frequency.h"

namespace cornu::callbacks {

struct ModelCheckpointOptions {
  // "….keras" (with save_weights_only "….weights.h5"), or the name of a folder, which has no
  // extension: the file in it is then model.keras or model.weights.h5. Python's format fields name
  // the epoch (counted from 1), the batch, and the epoch's metrics: "{epoch:02d}-{val_loss:.2f}".
  std::string filepath = {};
  std::string monitor = "val_loss";
  int verbose = 0;  // 1: logs what it does
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";  // "min", "max", or "auto": by what the metric is
  SaveFrequency save_freq = "epoch";
  std::optional<double> initial_value_threshold = {};  // what the first "best" has to beat
  bool on_every_worker = false;  // keeps the state of the run there; see BackupAndRestore
};

// Saves the model as training goes on (keras.callbacks.ModelCheckpoint). Folders are made as
// needed. As often as it saves it keeps the state of the run, too, in the folder
// ".<filepath's name>.run" beside the files: the same program, started again after it was killed,
// resumes from there, to the same bits (see BackupAndRestore, also for SIGTERM and SIGINT). The
// state is removed at the end of training. InvalidArgument for a filepath with another ending or
// bad fields. FailedPrecondition when training begins if files can't be written there; nothing was
// trained then.
class ModelCheckpoint : public CallbackHandle {
 public:
  explicit ModelCheckpoint(const ModelCheckpointOptions& options);

  std::optional<double> best() const;
};

}  // namespace cornu::callbacks
