// SPDX-License-Identifier: Apache-2.0
// Runs a job's tasks on this machine until they are done.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "apps/cornu/launch/begun.h"
#include "apps/cornu/launch/child.h"
#include "apps/cornu/launch/cpu_shares.h"
#include "apps/cornu/launch/guard.h"
#include "apps/cornu/launch/lines.h"
#include "apps/cornu/launch/options.h"
#include "apps/cornu/launch/plan.h"
#include "apps/cornu/launch/ports.h"
#include "apps/cornu/launch/sink.h"

namespace apps {

// The signals sent to this process, as a file to wait for. Signals that were ignored at its start
// (nohup, a script's background jobs) never arrive.
class Signals {
 public:
  // Blocks the signals until the process ends.
  Signals();
  int file() const { return file_.get(); }
  const sigset_t& mask_before() const { return before_; }
  // The next signal that has arrived; 0: none.
  int next();

 private:
  sigset_t before_;
  cornu::FileDescriptor file_;
};

// Must be used at most once, by a single-threaded process.
class Supervisor {
 public:
  explicit Supervisor(const LaunchOptions& options);
  // Runs the job and returns its exit code. Throws LaunchError.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Run {
    PlannedTask task;
    ReservedPort port;
    CpuShare share;
    Lines output;
    Lines errors;
    pid_t process = -1;                            // negative: not running
    std::optional<Clock::time_point> starts = {};  // time of the restart
    std::optional<Clock::time_point> waits = {};   // deadline for its port to become free
    Clock::time_point started = {};
    int restarts = 0;
    double backoff = 0;  // seconds before the next restart
    int code = 0;        // its last exit code
    bool is_over = false;
  };

  static bool computes(const Run& run);
  static bool is_worker(const Run& run);
  Run run_of(const PlannedTask& task, int number, CpuShare share);
  void add_runs();
  std::vector<std::string> environment_of(const Run& run, int listens) const;
  void start(Run& run);
  bool waits_for_port(Run& run);
  void wait_for_events();
  void on_signal(int signal);
  void find_ended();
  void end_orphans();
  void on_end(Run& run, int code);
  void look_for_begun();
  void find_left_early();
  void restart_later(Run& run);
  void keep_late_code(const Run& run);
  void fail(const Run& run);
  // Whether this worker has left while others still compute with it.
  bool left_early(const Run& run) const;
  // --elastic: ends all tasks that compute, and restarts them with one worker fewer.
  bool may_shrink(const Run& run) const;
  void shrink(Run& run);
  void begin_anew();
  // Asks all running tasks to end, and starts none again.
  void stop();
  void signal_all(int signal);
  void signal_held_back();
  void cancel_restarts();
  bool is_over() const;
  bool decides(const Run& run) const;
  bool serves(const Run& run) const;  // parameter servers, and workers of a chief with such
  bool deciding_are_over() const;
  std::optional<Clock::time_point> next_deadline() const;
  void forwarded(bool well);
  void say(const std::string& text);
  void write_what_is_kept();

  LaunchOptions options_;  // with the current number of workers
  Signals signals_;
  Guard guard_;
  std::unordered_set<pid_t>
      strangers_;  // children of this process from before it became a launcher
  Sink output_;
  Sink errors_;
  std::vector<Run> runs_;
  std::vector<PlannedTask> tasks_;
  BegunFile begun_;
  bool has_begun_ = false;       // workers compute together, or wait for each other to do so
  cornu::FileDescriptor ended_;  // written by workers when all have reached their ends
  std::string token_;            // of the job; "": the environment has one
  int signals_seen_ = 0;
  bool stops_ = false;
  std::optional<int> shrinks_ = {};  // the exit code of the worker that is left out
  std::optional<Clock::time_point> kills_ = {};
  std::optional<Clock::time_point> asks_ = {};  // when servers that still run get SIGTERM
  std::optional<int> held_back_ = {};           // a signal for servers, until the others have ended
  std::optional<int> code_ = {};                // of the first task that failed permanently
  std::optional<int> late_code_ =
      {};  // of the first worker that failed after all had reached their ends
};

}  // namespace apps
