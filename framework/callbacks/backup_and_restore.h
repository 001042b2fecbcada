// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/callbacks/callback.h"
#include "framework/callbacks/save_frequency.h"

namespace cornu::callbacks {

struct BackupAndRestoreOptions {
  std::string backup_dir = {};
  SaveFrequency save_freq = "epoch";  // or a number of batches
  bool double_checkpoint = false;     // no effect (Keras's option): the previous state is always
                                      // kept
  bool delete_checkpoint = true;      // when training has completed; if false, the state is also
                                      // saved at the end of each epoch
  // For workers on several machines without a shared file system: every worker saves the state, the
  // chief in backup_dir and the others in subdirectories "worker 1", …. When the run resumes, the
  // worker with the newest state sends it to all. The directory of an abandoned run must be removed
  // on every machine.
  bool on_every_worker = false;
};

// Saves the state of the run in a directory, and resumes from it when the same program is started
// again (keras.callbacks.BackupAndRestore), with bit-identical results, wherever it was killed. The
// state includes weights, optimizer, random seeds, the position in the data, metrics, history, and
// the other callbacks' states; it is written on a background thread. The training data must come in
// the same order again, as it does from a data pipeline with seeds.
//
// On SIGTERM, as sent by schedulers, the process finishes the current step, writes the state, and
// exits with the code kTerminatedExitCode (143). On SIGINT (Ctrl-C), fit throws Interrupted at that
// point. A second signal kills the process immediately. See StopSignals, also for programs with
// their own signal handlers.
//
// Throws InvalidArgument without a backup_dir. When training begins, throws FailedPrecondition when
// the directory can't be used, when another live run uses it, or when the state in it doesn't
// match: an optimizer of another class, variables of other shapes or dtypes, a dataset with other
// transforms, shapes or batch sizes, or another number of batches in an epoch; DataLoss when it
// holds only damaged states. The following only log a warning: another config of the model or the
// optimizer; other losses, metrics, class_weight or data values; additional callbacks; fewer epochs
// than the state has (nothing is trained, and the state stays); a state that can't be written.
class BackupAndRestore final : public CallbackHandle {
 public:
  explicit BackupAndRestore(const BackupAndRestoreOptions& options);
};

}  // namespace cornu::callbacks
