// SPDX-License-Identifier: Apache-2.0
// Assigns steps to workers, in the coordinator's process.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "distribute/cluster/at_exit.h"
#include "distribute/parameter_server/divide_step.h"
#include "distribute/parameter_server/remote_variables.h"
#include "framework/core/tensors.h"
#include "framework/core/threads.h"
#include "framework/graph/function.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

// A source that each worker iterates over by itself.
struct WorkerDataset : std::enable_shared_from_this<WorkerDataset> {
  int64_t number = 0;
  std::vector<std::shared_ptr<BatchSource>> by_worker;
  std::vector<Tensors> sample;  // arguments with the structure of its batches
};

struct DefinedStep;
struct KnownFunction;

// A scheduled step and its result.
struct ScheduledStep {
  Function function;
  std::vector<Tensors> arguments;                          // empty with a dataset
  std::shared_ptr<const WorkerDataset> dataset = nullptr;  // null: use `arguments`

  // The owner of the step: an error aborts the owner's queued steps. 0 is the program's
  // coordinator, whose errors are also thrown by its next call.
  uint64_t owner = 0;
  // Set by the scheduler.
  std::shared_ptr<const KnownFunction> known = nullptr;
  std::shared_ptr<const DefinedStep> defined =
      nullptr;         // for its arguments, or the dataset's sample
  uint64_t key = 0;    // for random numbers
  int64_t number = 0;  // in the order of scheduling
  uint64_t generation = 0;

  // The members below are guarded by the scheduler, which notifies waiters of changes.
  bool done = false;
  Tensors result = {};
  std::exception_ptr error = nullptr;

  // Releases the inputs of the step.
  void release();
};

// One thread per worker takes steps from a common queue. If a worker is lost, its step goes to
// another one; servers ignore its updates if the first one has made them. Thread-safe.
class StepScheduler {
 public:
  struct Options {
    std::vector<std::string> workers;  // addresses
    std::vector<std::string> servers;
    CallCredentials credentials;
    std::shared_ptr<ServerLinks> links;
    std::shared_ptr<RemoteVariables> variables;
    // The strategy in whose scope steps are traced.
    std::function<std::shared_ptr<StrategyImpl>()> strategy;
  };
  explicit StepScheduler(Options options);
  ~StepScheduler();  // queued steps aren't run any more
  StepScheduler(const StepScheduler&) = delete;
  StepScheduler& operator=(const StepScheduler&) = delete;

  size_t worker_count() const { return options_.workers.size(); }

  // Traces the step if it is new, on this thread, so that the variables it creates are in the
  // program's order. Blocks while many steps are queued. Throws an earlier step's error.
  std::shared_ptr<ScheduledStep> schedule(ScheduledStep step);
  // Blocks until all steps have been run. Throws the first error.
  void join();
  bool done();  // non-blocking join: whether all steps have been run
  // Blocks until the step has been run. Throws its error.
  Tensors result(ScheduledStep& step);
  bool is_done(const ScheduledStep& step);
  int64_t new_number();  // for a dataset or a function
  uint64_t new_owner();
  // Ends the threads once they have finished their current steps; queued steps aren't run any more.
  // Mustn't be called from one of these threads (is_own_thread).
  void stop();
  bool is_own_thread() const;
  // For when the process exits, whose handlers destroy what the threads use: those that work
  // locally are waited for, for a few seconds at most; those that wait for a call end when it
  // returns. No step ends any more.
  void halt();

 private:
  struct Halted {};  // thrown to end a thread
  class Worker;

  struct Known {
    std::shared_ptr<const KnownFunction> function;
    std::shared_ptr<const DefinedStep> step;
  };
  Known defined(const Function& function, const std::vector<Tensors>& arguments);
  std::shared_ptr<const DefinedStep> define(KnownFunction& known, const Function& function,
                                            const std::vector<Tensors>& arguments,
                                            const std::string& signature);
  void drop_gone();
  Json described(const Variable& variable) const;
  Json define_updates(const DividedStep& divided, DefinedStep& defined);
  void work(Worker& worker);
  void serve(Worker& worker);
  bool connect(Worker& worker, std::unique_lock<std::mutex>& lock);
  std::exception_ptr error_of_servers() const;         // null: all of them serve this job
  void fail_waiting(const std::exception_ptr& error);  // with the lock held
  void finish(ScheduledStep& step, Tensors result, std::exception_ptr error);
  void end(ScheduledStep& step, std::exception_ptr error);  // with the lock held
  int64_t first_unfinished();
  void begin_work(std::unique_lock<std::mutex>& lock);
  void end_work(std::unique_lock<std::mutex>& lock);
  // On one of the threads, while it works: calls `wait`. Throws Halted.
  void idle(FunctionRef<void()> wait);
  // With the lock held; for one owner, or all.
  void abort_waiting(std::optional<uint64_t> owner, const char* why);
  void throw_error();

  const Options options_;
  std::mutex defining_;  // guards the next two members
  std::map<uint64_t, std::shared_ptr<KnownFunction>> functions_;
  int64_t updates_ = 0;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::deque<std::shared_ptr<ScheduledStep>> waiting_;
  int64_t steps_ = 0;             // number of steps that have been scheduled
  std::set<int64_t> unfinished_;  // their numbers
  size_t running_ = 0;
  std::exception_ptr error_;  // not yet reported
  uint64_t generation_ = 0;  // number of errors thrown so far; errors of steps scheduled before the
                             // last one are ignored
  bool stops_ = false;
  bool halts_ = false;
  size_t busy_ = 0;  // threads that work locally, with the lock released
  int64_t numbers_ = 0;
  uint64_t owners_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<AtExit> at_exit_;  // not guarded
};

}  // namespace cornu::distribute
