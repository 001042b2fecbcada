// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/train/checkpoint.h"

namespace cornu {

struct CheckpointManagerOptions {
  std::string directory = {};                                // created with the first checkpoint
  std::optional<int64_t> max_to_keep = {};                   // None: all
  std::optional<double> keep_checkpoint_every_n_hours = {};  // keep one per interval forever
  std::string checkpoint_name = "ckpt";
  Variable step_counter = {};                       // a scalar; used with checkpoint_interval
  std::optional<int64_t> checkpoint_interval = {};  // minimum number of steps between saves
  std::function<void()> init_fn = {};  // called by restore_or_initialize without a checkpoint
  std::function<double()> clock = {};  // in seconds; default: time since 1970
};

// Keeps the newest checkpoints of a directory and removes older ones (tf.train.CheckpointManager):
//
//   CheckpointManager manager(checkpoint, {.directory = "run", .max_to_keep = 3});
//   manager.restore_or_initialize();
//   …
//   manager.save();
//
// The checkpoints it keeps are listed in the file "checkpoint" of the directory; if that file is
// missing or damaged, the directory is searched for checkpoints instead, with a warning. A cheap
// handle; must be used by one thread at a time, and only one process may save to the directory.
// With several workers, each worker that calls save() writes, so all but the chief must use another
// directory (docs/checkpoints.md) or not call it: saving doesn't involve the other workers.
class CheckpointManager {
 public:
  // Throws InvalidArgument without a directory, for max_to_keep < 1, for a name containing '/', and
  // for an interval without a counter.
  CheckpointManager(const Checkpoint& checkpoint, const CheckpointManagerOptions& options);

  // Saves to <directory>/<checkpoint_name>-<number>, where the number defaults to the checkpoint's
  // save_counter, then removes surplus checkpoints. Returns the path, or nullopt within
  // checkpoint_interval steps of the last save, unless check_interval is false. On an error,
  // earlier checkpoints are kept.
  std::optional<std::string> save(std::optional<int64_t> checkpoint_number = {},
                                  bool check_interval = true);

  // Restores the newest intact checkpoint and returns its path; damaged ones are named in a
  // warning. Without any checkpoints, calls init_fn and returns nullopt. Throws DataLoss when all
  // of them are damaged; other errors are as for Checkpoint::restore.
  std::optional<std::string> restore_or_initialize();

  // The checkpoints kept, newest last, excluding those kept every n hours.
  std::vector<std::string> checkpoints() const;
  std::optional<std::string> latest_checkpoint() const;
  const std::string& directory() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Returns the path of the newest checkpoint that a manager saved in this directory, or nullopt
// (tf.train.latest_checkpoint).
std::optional<std::string> latest_checkpoint(const std::string& directory);

}  // namespace cornu
