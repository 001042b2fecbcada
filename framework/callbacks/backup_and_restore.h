// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/callbacks/callback.h"
#include "framework/callbacks/save_frequency.h"

namespace cornu::callbacks {

struct BackupAndRestoreOptions {
  std::string backup_dir = {};
  SaveFrequency save_freq = "epoch";  // or a number of batches
  bool double_checkpoint = false;     // the state before the last is always kept; Keras's option
  bool delete_checkpoint = true;      // at the end of a whole training; otherwise the state is also
                                      // kept at the end of each epoch
  // For workers of several machines without a common file system: each one keeps the state, the
  // chief in backup_dir and the others in folders "worker 1", … within it. When the run goes on,
  // whichever worker has the newest gives it to all. A folder of a run that was given up has to be
  // removed on every machine.
  bool on_every_worker = false;
};

// Keeps the state of the run in a folder, and resumes from it when the same program is started
// again (keras.callbacks.BackupAndRestore): to the bit as if it had never been stopped, wherever it
// was killed. What is kept: weights, optimizer, random seeds, the position in the data, metrics,
// history, and the other callbacks' states; it is written on a thread of its own. The training
// sample of a data pipeline must come in the same order again, as tf.data's with seeds does.
//
// SIGTERM, as schedulers send it, ends the process after the step that is running, when the state
// is written, with the exit code kTerminatedExitCode (143). SIGINT (Ctrl-C) ends fit there, with
// Interrupted. A second signal kills at once. See StopSignals, also for programs that have handlers
// of their own.
//
// InvalidArgument without a backup_dir. When training begins: FailedPrecondition when the folder
// can't be used, another run that is alive uses it, or the state in it doesn't fit: an optimizer of
// another class, other shapes or dtypes of variables, a dataset of other transforms, shapes or
// batch sizes, another number of batches in an epoch; DataLoss when it holds states that are all
// damaged. Warnings, and training goes on: another config of the model or the optimizer, other
// losses, metrics, class_weight or values of the data, callbacks that weren't there; fewer epochs
// than the state has (nothing is trained, and it stays); a state that can't be written.
class BackupAndRestore : public CallbackHandle {
 public:
  explicit BackupAndRestore(const BackupAndRestoreOptions& options);
};

}  // namespace cornu::callbacks
