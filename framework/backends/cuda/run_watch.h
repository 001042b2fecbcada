// SPDX-License-Identifier: Apache-2.0
// Who sees to it that no GPU waits for ever for one of another process, and knows whose results are
// right then.
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

// A thread that looks after the runs of a process's GPUs with those of other ones, several times a
// second. It lets go those that wait for processes that are gone, as the group says, and ends the
// group when the library reports a fault, or a GPU is in one call of the group for longer than
// `timeout`: what it computes between calls may take as long as it likes. A run that isn't done
// when its GPUs are let go is stopped: its results aren't known to be right.
class RunWatch {
 public:
  // A process that is gone shows in the library before it does in the group: by then, it does
  // there.
  static constexpr std::chrono::seconds kPatience{15};

  // `links` live as long as this. `patience`: how long a fault of the library's is looked at.
  RunWatch(Runtime& runtime, std::vector<DeviceCollectives*> links,
           const std::shared_ptr<ProcessGroup>& processes, std::chrono::milliseconds timeout,
           std::chrono::milliseconds patience = kPatience);
  // Lets go what is under way.
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  // From now on, of a run that will be `done`. Runs of one GPU come in their order; all that come
  // behind one that was stopped are.
  std::shared_ptr<const StoppedRun> follow(std::shared_ptr<RuntimeEvent> done);
  // From now on, of a rank's call that its GPU is in from `reached` to `done`.
  void follow_call(int rank, std::shared_ptr<RuntimeEvent> reached,
                   std::shared_ptr<RuntimeEvent> done);
  // Stops what is under way, now or when it comes; links are let go when this returns. But false,
  // and links are left as they are, where nothing is under way and the group hasn't ended.
  bool let_go();
  // The error that has ended the group; null: it hasn't ended.
  std::exception_ptr why_ended();
  // The same, which comes soon: throws what was seen of another process where it doesn't.
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
    std::optional<Clock::time_point> since = {};  // when it was seen to be reached
  };
  // What the group's end reaches, which may come when the watch is gone.
  struct State {
    explicit State(Runtime& of) : runtime(of) {}

    void end(const std::exception_ptr& why, ProcessGroup::Ending ending);
    void take_done();
    bool is_idle() const;

    Runtime& runtime;
    std::mutex mutex;  // guards all that follows
    std::condition_variable changed;
    std::exception_ptr why;                 // the group has ended; null: it hasn't
    bool spares_links = false;              // nothing is under way that others could hold up
    bool lets_go = false;                   // runs are to be stopped
    std::deque<Run> runs;                   // that may be under way, the oldest first
    std::map<int, std::deque<Call>> calls;  // likewise, by rank
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
