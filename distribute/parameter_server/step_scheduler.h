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
struct WorkerDataset {
  int64_t number = 0;
  std::vector<std::shared_ptr<BatchSource>> by_worker;
  std::vector<Tensor> sample;  // of the kind of its batches
};

// A step that was scheduled, and what it has given.
struct ScheduledStep {
  Function function;
  std::vector<Tensors> arguments;                          // of a dataset, none
  std::shared_ptr<const WorkerDataset> dataset = nullptr;  // null: the arguments

  uint64_t key = 0;  // of random numbers: the scheduler draws it

  // The last three are guarded by the scheduler, which tells when they change.
  bool done = false;
  Tensors result = {};
  std::exception_ptr error = nullptr;
};

// One thread for each worker takes steps from one queue. A step whose worker is lost goes to
// another one: it may have updated variables before. The first error of a step ends all that wait,
// and is thrown to whoever asks next. Thread-safe.
class StepScheduler {
 public:
  struct Options {
    std::vector<std::string> workers;  // addresses
    std::vector<std::string> servers;
    CallCredentials credentials;
    std::shared_ptr<ServerLinks> links;
    std::shared_ptr<RemoteVariables> variables;
    std::weak_ptr<StrategyImpl> strategy;  // in whose scope steps are traced
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
  // Who asks next isn't told of an error that somebody has got by result().
  void forget_error();
  int64_t new_number();  // of a dataset

 private:
  struct Defined;
  class Worker;

  // `tensors`: those of the arguments.
  std::shared_ptr<const Defined> defined(const Function& function,
                                         const std::vector<Tensors>& arguments,
                                         const std::vector<Tensor>& tensors);
  std::shared_ptr<const Defined> define(const Function& function,
                                        const std::vector<Tensors>& arguments,
                                        const std::string& signature);
  Json described(const Variable& variable) const;
  Json define_updates(const DividedStep& divided);
  std::shared_ptr<const Defined> definition(const std::string& signature);
  void work(Worker& worker);
  bool connect(Worker& worker, std::unique_lock<std::mutex>& lock);
  void finish(ScheduledStep& step, Tensors result, std::exception_ptr error);
  void abort_waiting(const char* why);  // with the lock held
  void throw_error();

  const Options options_;
  std::mutex defining_;  // guards the next two
  std::map<std::string, std::shared_ptr<const Defined>> definitions_;
  int64_t updates_ = 0;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<ScheduledStep>> waiting_;
  size_t running_ = 0;
  std::exception_ptr error_;  // nobody has been told of
  bool stops_ = false;
  int64_t numbers_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace cornu::distribute
