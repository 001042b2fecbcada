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

// tf.distribute.experimental.TerminationConfig (without a grace period: the state is kept after the
// step in which a worker was told).
struct TerminationConfig {
  // Asked after each run(): is this worker to end soon, by what else than SIGTERM and SIGINT says
  // so (a cloud's notice, say)?
  std::function<bool()> termination_watcher_fn = {};
  // Called when all workers have kept their states; when it returns, run() does, and a process that
  // was sent SIGTERM ends with kTerminatedExitCode where the handler is destroyed. Without one it
  // ends so at once, as the last StopSignals does (nothing is unwound), and run() throws
  // Interrupted after a SIGINT.
  std::function<void()> exit_fn = {};
  // Called instead of save().
  std::function<void()> save_fn = {};
};

// A custom loop that is ended from outside keeps its state, after the same step on all workers, and
// goes on from there when it is started again
// (tf.distribute.experimental.PreemptionCheckpointHandler):
//
//   PreemptionCheckpointHandler handler(Checkpoint({{"model", model}, …}), "run");
//   while (handler.total_run_calls() < steps) {
//     handler.run([&] { strategy.run(step, …); });
//   }
//
// (fit does so by itself where a callback keeps its state.) Worker 0's checkpoints lie in the
// folder, those of worker n in its folder worker-n. Used by one thread, in a strategy's scope where
// there is one, and by all workers alike.
class PreemptionCheckpointHandler {
 public:
  // Restores the newest checkpoint that all workers have. FailedPrecondition where there are some,
  // but none of all (there are more workers than before); errors as Checkpoint::restore.
  PreemptionCheckpointHandler(const Checkpoint& checkpoint, const std::string& checkpoint_dir,
                              TerminationConfig config = {});
  // All workers call it: where one was told to end after its last call, all save.
  ~PreemptionCheckpointHandler();
  PreemptionCheckpointHandler(const PreemptionCheckpointHandler&) = delete;
  PreemptionCheckpointHandler& operator=(const PreemptionCheckpointHandler&) = delete;

  // Calls `step`, which runs one step or more on all replicas, and returns what it does. Where any
  // worker is to end: saves, then exit_fn.
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
  // How often run() was called, in the program and those before it that it goes on from.
  int64_t total_run_calls() const { return calls_; }
  // Also keeps the state now. All workers must call it after the same run().
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
