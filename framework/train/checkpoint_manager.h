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
  std::string directory = {};                                // made with the first checkpoint
  std::optional<int64_t> max_to_keep = {};                   // None: all
  std::optional<double> keep_checkpoint_every_n_hours = {};  // one in each is never removed
  std::string checkpoint_name = "ckpt";
  Variable step_counter = {};                       // a scalar; with checkpoint_interval
  std::optional<int64_t> checkpoint_interval = {};  // steps below which save() does nothing
  std::function<void()> init_fn = {};  // what restore_or_initialize calls where there is nothing
  std::function<double()> clock = {};  // seconds; by default since 1970
};

// Keeps the newest checkpoints of a directory and removes others (tf.train.CheckpointManager):
//
//   CheckpointManager manager(checkpoint, {.directory = "run", .max_to_keep = 3});
//   manager.restore_or_initialize();
//   …
//   manager.save();
//
// What it keeps stands in the file "checkpoint" of the directory; where that is missing or damaged,
// the checkpoints themselves are looked for, with a warning. A cheap handle; used by one thread at
// a time, and by one process that saves to the directory: of several workers each one that calls
// save() writes, so all but the chief need another directory (docs/checkpoints.md), or don't call
// it: saving needs no other worker.
class CheckpointManager {
 public:
  // InvalidArgument without a directory, for a max_to_keep below 1, for a name with '/', and for an
  // interval without a counter.
  CheckpointManager(const Checkpoint& checkpoint, const CheckpointManagerOptions& options);

  // Saves as <directory>/<checkpoint_name>-<number>, by default numbered by the checkpoint's
  // save_counter, then removes what is too many. The path; none within checkpoint_interval steps
  // of the last one, unless check_interval is off. On an error, what was saved earlier stays.
  std::optional<std::string> save(std::optional<int64_t> checkpoint_number = {},
                                  bool check_interval = true);

  // Restores the newest checkpoint that is whole and returns its path; a warning says which were
  // not. Without any, calls init_fn and returns none. DataLoss when there are some, but none is
  // whole; other errors as Checkpoint::restore.
  std::optional<std::string> restore_or_initialize();

  // Those it keeps, the newest last; not those that are kept every n hours.
  std::vector<std::string> checkpoints() const;
  std::optional<std::string> latest_checkpoint() const;
  const std::string& directory() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The path of the newest checkpoint that a manager saved in this directory, or none
// (tf.train.latest_checkpoint).
std::optional<std::string> latest_checkpoint(const std::string& directory);

}  // namespace cornu
