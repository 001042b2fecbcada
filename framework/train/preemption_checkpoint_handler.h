// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/core/stop_signals.h"
#include "framework/strategy/strategy.h"
#include "framework/train/checkpoint_manager.h"

namespace cornu::distribute {

// tf.distribute.experimental.TerminationConfig, without a grace period: the state is saved after
// the step in which a worker is notified.
struct TerminationConfig {
  // Called after each run(): returns whether this worker is to end soon for a reason other than
  // SIGTERM and SIGINT, e.g. a cloud provider's notice.
  std::function<bool()> termination_watcher_fn = {};
  // Called when all workers have saved their states. When it returns, run() returns, and a process
  // that received SIGTERM exits with kTerminatedExitCode when the handler is destroyed. Without an
  // exit_fn, the process exits immediately, as the last StopSignals does (without unwinding), and
  // after SIGINT run() throws Interrupted.
  std::function<void()> exit_fn = {};
  // Called instead of save().
  std::function<void()> save_fn = {};
};

// Lets a custom training loop that is terminated externally save its state, after the same step on
// all workers, and resume when it is started again
// (tf.distribute.experimental.PreemptionCheckpointHandler):
//
//   PreemptionCheckpointHandler handler(Checkpoint({{"model", model}, …}), "run");
//   while (handler.total_run_calls() < steps) {
//     handler.run([&] { strategy.run(step, …); });
//   }
//
// (fit does this itself if a callback saves its state.) Worker 0's checkpoints are written to the
// directory, those of worker n to its subdirectory worker-n. Must be used by a single thread, in
// the scope of the strategy if there is one, and in the same way by all workers.
class PreemptionCheckpointHandler {
 public:
  // Restores the newest checkpoint that all workers have. Throws FailedPrecondition when there are
  // checkpoints but none that all workers have (there are more workers than before); other errors
  // are as for Checkpoint::restore.
  PreemptionCheckpointHandler(const Checkpoint& checkpoint, const std::string& checkpoint_dir,
                              TerminationConfig config = {});
  // All workers call it: if one was notified after its last call, all save.
  ~PreemptionCheckpointHandler();
  PreemptionCheckpointHandler(const PreemptionCheckpointHandler&) = delete;
  PreemptionCheckpointHandler& operator=(const PreemptionCheckpointHandler&) = delete;

  // Calls `step`, which runs one or more steps on all replicas, and returns its result. If any
  // worker is to end, saves and then calls exit_fn.
  template <class F>
  auto run(F&& step) {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      std::forward<F>(step)();
      end_call();
    } else {
      auto result = std::forward<F>(step)();
      end_call();
      return result;
    }
  }
  // Number of calls of run(), including those of earlier runs that this one resumes.
  int64_t total_run_calls() const { return calls_; }
  // Saves the state now as well. All workers must call it after the same run().
  std::string save();

 private:
  void restore();
  void end_call();
  void keep();
  bool is_signalled();
  bool is_told();

  Strategy strategy_;
  TerminationConfig config_;
  Checkpoint checkpoint_;
  CheckpointManager manager_;
  int64_t calls_ = 0;
  std::optional<StopSignals> signals_{std::in_place};
  std::optional<StopSignal> signal_;
  bool told_ = false;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace cornu::distribute
