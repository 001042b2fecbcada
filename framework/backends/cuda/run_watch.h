// SPDX-License-Identifier: Apache-2.0
// Ensures that no GPU waits forever for one of another process, and tracks whose results are
// correct.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "framework/backends/cuda/stopped_run.h"
#include "framework/graph/process_group.h"

namespace cornu::cuda {

// A thread that monitors the runs of a process's GPUs with those of other processes, several times
// a second. It releases GPUs that wait for processes that are gone, as reported by the group. It
// ends the group when the library reports a fault, or when a GPU is in one call of the group for
// longer than `timeout`; computation between calls may take any time. A run that isn't complete
// when its GPUs are released is stopped: its results aren't known to be correct.
class RunWatch {
 public:
  // The library notices a lost process earlier than the group does; after this time, the group has
  // noticed it, too.
  static constexpr std::chrono::seconds kPatience{15};

  // `links` must outlive this object. `patience`: how long to wait, after a fault in the library,
  // for the group's report.
  RunWatch(Runtime& runtime, std::vector<DeviceCollectives*> links,
           const std::shared_ptr<ProcessGroup>& processes, std::chrono::milliseconds timeout,
           std::chrono::milliseconds patience = kPatience);
  // Releases what is in flight.
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  // Starts watching a run. `done`: its completion. Runs of one GPU must be passed in order; all
  // runs that follow a stopped run are stopped as well.
  std::shared_ptr<const StoppedRun> follow(std::shared_ptr<RuntimeEvent> done);
  // Starts watching a rank's call, during which its GPU is between `reached` and `done`.
  void follow_call(int rank, std::shared_ptr<RuntimeEvent> reached,
                   std::shared_ptr<RuntimeEvent> done);
  // Stops what is in flight, now or in the future; links have been released when this returns true.
  // Returns false, leaving the links as they are, when nothing is in flight and the group hasn't
  // ended.
  bool let_go();
  // The error that has ended the group; null: it hasn't ended.
  std::exception_ptr why_ended();
  // Throws the error that ends the group, which is expected soon, or else `seen`, what was observed
  // of another process.
  [[noreturn]] void throw_cause(const std::exception_ptr& seen);

 private:
  using Clock = std::chrono::steady_clock;
  struct Run {
    std::shared_ptr<RuntimeEvent> done;
    std::shared_ptr<StoppedRun> outcome;
  };
  struct Call {
    std::shared_ptr<RuntimeEvent> reached;
    std::shared_ptr<RuntimeEvent> done;
    std::optional<Clock::time_point> since = {};  // when it was first seen to be reached
  };
  // State used by the group's end callback, which may come after the watch is destroyed.
  struct State {
    explicit State(Runtime& of) : runtime(of) {}

    void end(const std::exception_ptr& why, ProcessGroup::Ending ending);
    void take_done();
    bool is_idle() const;

    Runtime& runtime;
    std::mutex mutex;  // guards all members below
    std::condition_variable changed;
    std::exception_ptr why;                 // why the group has ended; null: it hasn't
    bool spares_links = false;              // nothing in flight could be held up by others
    bool lets_go = false;                   // runs are to be stopped
    std::deque<Run> runs;                   // possibly in flight, oldest first
    std::map<int, std::deque<Call>> calls;  // possibly in flight, by rank
  };

  void work();
  std::exception_ptr fault() const;
  std::exception_ptr overdue();

  const std::vector<DeviceCollectives*> links_;
  const std::weak_ptr<ProcessGroup> processes_;
  const std::chrono::milliseconds timeout_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace cornu::cuda
