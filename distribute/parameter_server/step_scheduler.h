// SPDX-License-Identifier: Apache-2.0
// Gives steps to workers, from the coordinator's process.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distribute/parameter_server/divide_step.h"
#include "distribute/parameter_server/remote_variables.h"
#include "framework/core/tensors.h"
#include "framework/graph/function.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

// A source that each worker goes over by itself.
struct WorkerDataset : std::enable_shared_from_this<WorkerDataset> {
  int64_t number = 0;
  std::vector<std::shared_ptr<BatchSource>> by_worker;
  std::vector<Tensors> sample;  // arguments of the kind that its batches are
};

struct DefinedStep;
struct KnownFunction;

// A step that was scheduled, and what it has given.
struct ScheduledStep {
  Function function;
  std::vector<Tensors> arguments;                          // of a dataset, none
  std::shared_ptr<const WorkerDataset> dataset = nullptr;  // null: the arguments

  // Whose it is: an error ends those that wait of the same owner. 0: the program's coordinator,
  // whose errors are thrown by the next call as well.
  uint64_t owner = 0;
  // The scheduler's.
  std::shared_ptr<const KnownFunction> known = nullptr;
  std::shared_ptr<const DefinedStep> defined =
      nullptr;       // for its arguments, or the dataset's sample
  uint64_t key = 0;  // of random numbers
  uint64_t generation = 0;

  // The last three are guarded by the scheduler, which tells when they change.
  bool done = false;
  Tensors result = {};
  std::exception_ptr error = nullptr;

  // Lets go of what it has been run with.
  void release();
};

// One thread for each worker takes steps from one queue. A step whose worker is lost goes to
// another one: it may have updated variables before. Thread-safe.
class StepScheduler {
 public:
  struct Options {
    std::vector<std::string> workers;  // addresses
    std::vector<std::string> servers;
    CallCredentials credentials;
    std::shared_ptr<ServerLinks> links;
    std::shared_ptr<RemoteVariables> variables;
    // In whose scope steps are traced.
    std::function<std::shared_ptr<StrategyImpl>()> strategy;
  };
  explicit StepScheduler(Options options);
  ~StepScheduler();  // what waits isn't run any more
  StepScheduler(const StepScheduler&) = delete;
  StepScheduler& operator=(const StepScheduler&) = delete;

  size_t worker_count() const { return options_.workers.size(); }

  // Traces the step where that is new: on this thread, so that what it makes comes in the program's
  // order. Waits while many steps do. Throws an earlier step's error.
  std::shared_ptr<ScheduledStep> schedule(ScheduledStep step);
  // Waits for all of them. Throws the first error.
  void join();
  bool done();  // likewise, without waiting: whether all have ended
  // Waits for one. Its error.
  Tensors result(ScheduledStep& step);
  bool is_done(const ScheduledStep& step);
  int64_t new_number();  // of a dataset, or a function
  uint64_t new_owner();
  // Lets its threads end, when they have run what they have begun; what waits isn't run any more.
  // Not from one of these threads (is_own_thread).
  void stop();
  bool is_own_thread() const;

 private:
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
  bool connect(Worker& worker, std::unique_lock<std::mutex>& lock);
  std::exception_ptr error_of_servers() const;         // null: all of them serve this job
  void fail_waiting(const std::exception_ptr& error);  // with the lock held
  void finish(ScheduledStep& step, Tensors result, std::exception_ptr error);
  // With the lock held; of one owner, or all.
  void abort_waiting(std::optional<uint64_t> owner, const char* why);
  void throw_error();

  const Options options_;
  std::mutex defining_;  // guards the next two
  std::map<uint64_t, std::shared_ptr<KnownFunction>> functions_;
  int64_t updates_ = 0;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<ScheduledStep>> waiting_;
  size_t running_ = 0;
  std::exception_ptr error_;  // nobody has been told of
  uint64_t generation_ = 0;   // errors that have been thrown: those of steps before don't count
  bool stops_ = false;
  int64_t numbers_ = 0;
  uint64_t owners_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace cornu::distribute
