// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/step_scheduler.h"

#include <set>
#include <utility>

#include "distribute/parameter_server/step_worker.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/core/zeros.h"
#include "framework/graph/portable.h"

namespace cornu::distribute {
namespace {

constexpr size_t kMostWaiting = 1024;  // steps, for each worker
constexpr std::chrono::milliseconds kRetry(200);
constexpr int kSayAfter = 25;  // tries

std::vector<Tensors> as_arguments(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

std::vector<Tensor> flat(const std::vector<Tensors>& arguments) {
  std::vector<Tensor> tensors;
  for (const Tensors& argument : arguments) {
    tensors.insert(tensors.end(), argument.begin(), argument.end());
  }
  return tensors;
}

}  // namespace

// A step for one signature: what workers are told of it. Servers know their part.
struct StepScheduler::Defined {
  std::shared_ptr<const CompiledFunction> compiled;
  std::string signature;
  CallMessage message;
};

class StepScheduler::Worker {
 public:
  Worker(StepScheduler& scheduler, size_t index)
      : scheduler_(scheduler),
        index_(index),
        client_(scheduler.options_.workers[index], scheduler.options_.credentials),
        thread_([this] { scheduler_.work(*this); }) {}
  ~Worker() { thread_.join(); }

  // TaskLost, and what the step throws.
  Tensors run(const ScheduledStep& step) {
    Json request = Json::object({{"function", static_cast<int64_t>(step.function.number())},
                                 {"dataset", Json()},
                                 {"held", false}});
    std::vector<Tensor> tensors;
    if (step.dataset) {
      require_dataset(*step.dataset);
      request.set("dataset", step.dataset->number);
    } else {
      tensors = flat(step.arguments);
      require(step.function, step.arguments, tensors);
    }
    const auto bits = step.key;
    tensors.push_back(
        Tensor::from<uint32_t>({static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)}));
    CallMessage answer = call("run", {request, tensors});
    const Json* needs = answer.json.find("needs");
    if (step.dataset && needs) {
      std::vector<Tensor> alike;
      for (const Json& type : needs->as_array()) {
        alike.push_back(host_zeros(type[1].as_shape(), dtype_from_string(type[0].as_string())));
      }
      require(step.function, as_arguments(alike), alike);
      request.set("held", true);
      answer = call("run", {request, tensors});
    }
    const std::string signature = answer.json.at("signature").as_string();
    return scheduler_.definition(signature)->compiled->structure.with(std::move(answer.tensors));
  }

  // Makes the worker serve this job, anew if it was lost. Why it doesn't; "" where it does.
  std::string connect() {
    defined_.clear();
    datasets_.clear();
    try {
      call("begin", {Json::object({{"servers", scheduler_.options_.servers}})});
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  std::string name() const { return fmt::format("worker {} ({})", index_, client_.address()); }

 private:
  CallMessage call(const std::string& method, CallMessage message) {
    message.json.set("job", scheduler_.options_.links->job());
    return client_.call(method, message);
  }

  void require(const Function& function, const std::vector<Tensors>& arguments,
               const std::vector<Tensor>& tensors) {
    const auto defined = scheduler_.defined(function, arguments, tensors);
    if (defined_.contains(defined->signature)) return;
    call("define", defined->message);
    defined_.insert(defined->signature);
  }

  void require_dataset(const WorkerDataset& dataset) {
    if (datasets_.contains(dataset.number)) return;
    const auto bytes = std::make_shared<const std::string>(dataset.by_worker[index_]->to_bytes());
    const Tensor wrapped =
        Tensor::wrap(bytes->data(), {static_cast<int64_t>(bytes->size())}, DType::UInt8, bytes);
    call("dataset", {Json::object({{"dataset", dataset.number}}), {wrapped}});
    datasets_.insert(dataset.number);
  }

  StepScheduler& scheduler_;
  const size_t index_;
  CallClient client_;
  std::set<std::string> defined_;  // what it knows: the thread's own, as is the next one
  std::set<int64_t> datasets_;
  std::thread thread_;
};

StepScheduler::StepScheduler(Options options) : options_(std::move(options)) {
  for (size_t i = 0; i < options_.workers.size(); ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, i));
  }
}

StepScheduler::~StepScheduler() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  workers_.clear();
  const std::lock_guard lock(mutex_);
  abort_waiting("the strategy has ended");
}

int64_t StepScheduler::new_number() {
  const std::lock_guard lock(mutex_);
  return ++numbers_;
}

std::shared_ptr<const StepScheduler::Defined> StepScheduler::definition(
    const std::string& signature) {
  const std::lock_guard lock(defining_);
  const auto found = definitions_.find(signature);
  check<Internal>(found != definitions_.end(), "ClusterCoordinator: no step '{}'.", signature);
  return found->second;
}

std::shared_ptr<const StepScheduler::Defined> StepScheduler::defined(
    const Function& function, const std::vector<Tensors>& arguments,
    const std::vector<Tensor>& tensors) {
  const std::string signature = step_signature(static_cast<int64_t>(function.number()), tensors);
  const std::lock_guard lock(defining_);
  std::shared_ptr<const Defined>& known = definitions_[signature];
  if (!known) known = define(function, arguments, signature);
  return known;
}

// Servers get their parts, and the worker's is made ready.
std::shared_ptr<const StepScheduler::Defined> StepScheduler::define(
    const Function& function, const std::vector<Tensors>& arguments, const std::string& signature) {
  auto defined = std::make_shared<Defined>();
  defined->signature = signature;
  {
    const StrategyScope scope(options_.strategy.lock());
    const Replica only;
    const ReplicaScope in_step(&only);
    defined->compiled = function.compiled_for(arguments);
  }
  const CompiledFunction& compiled = *defined->compiled;
  const DividedStep divided = divide_step(compiled.graph, [&](const Variable& variable) {
    return options_.variables->placement(variable);
  });
  const Json updates = define_updates(divided);
  Json::Array read;
  for (const Variable& variable : divided.read) read.push_back(described(variable));
  Json::Array taken;
  for (const RowsTaken& rows : divided.taken) {
    Json variable = described(rows.variable);
    std::vector<int64_t> ends;
    for (const Shard& shard : options_.variables->placement(rows.variable)) {
      ends.push_back(shard.rows.end);
    }
    variable.set("dtype", to_string(rows.variable.dtype()));
    variable.set("ends", ends);
    variable.set("indices", static_cast<int64_t>(rows.indices));
    taken.push_back(variable);
  }
  Json::Array sums;
  for (const double sum : compiled.replica_sums) sums.push_back(sum);
  CallMessage& message = defined->message;
  const PortableGraph graph = to_portable(divided.worker);
  const PortableGraph ahead = to_portable(divided.ahead);
  message.tensors = graph.constants;
  message.tensors.insert(message.tensors.end(), ahead.constants.begin(), ahead.constants.end());
  message.json = Json::object({{"signature", signature},
                               {"graph", graph.text},
                               {"constants", static_cast<int64_t>(graph.constants.size())},
                               {"has_key", compiled.has_key},
                               {"values", std::vector<int64_t>(compiled.replica_values.size(), 0)},
                               {"sums", sums},
                               {"results", static_cast<int64_t>(divided.results)},
                               {"read", read},
                               {"taken", taken},
                               {"ahead", ahead.text},
                               {"updates", updates}});
  return defined;
}

// Where a variable's shards are.
Json StepScheduler::described(const Variable& variable) const {
  Json::Array shards;
  for (const ShardPlace& place : options_.variables->places(variable)) {
    shards.push_back(Json::array({static_cast<int64_t>(place.server), place.key}));
  }
  return Json::object({{"shape", variable.shape()}, {"shards", shards}});
}

// Tells servers their parts; what workers are to know of these.
Json StepScheduler::define_updates(const DividedStep& divided) {
  Json::Array updates;
  for (const ServerUpdate& update : divided.updates) {
    std::vector<std::string> keys;
    for (const ShardOf& state : update.states) {
      keys.push_back(shard_key(state.variable, state.shard));
    }
    const PortableGraph graph = to_portable(update.graph);
    options_.links->call(
        "define", update.server,
        {Json::object({{"update", ++updates_}, {"graph", graph.text}, {"keys", keys}}),
         graph.constants});
    const std::vector<int64_t> sent(update.sent.begin(), update.sent.end());
    updates.push_back(Json::object(
        {{"server", static_cast<int64_t>(update.server)}, {"update", updates_}, {"sent", sent}}));
  }
  return updates;
}

std::shared_ptr<ScheduledStep> StepScheduler::schedule(ScheduledStep step) {
  const std::vector<Tensors> arguments =
      step.dataset ? as_arguments(step.dataset->sample) : step.arguments;
  const auto known = defined(step.function, arguments, flat(arguments));
  if (known->compiled->has_key) step.key = next_key();
  auto shared = std::make_shared<ScheduledStep>(std::move(step));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || waiting_.size() < kMostWaiting * workers_.size(); });
  throw_error();
  waiting_.push_back(shared);
  changed_.notify_all();
  return shared;
}

void StepScheduler::join() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && running_ == 0; });
  throw_error();
}

bool StepScheduler::done() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty() && running_ == 0) throw_error();
  return waiting_.empty() && running_ == 0;
}

Tensors StepScheduler::result(ScheduledStep& step) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return step.done; });
  if (step.error) std::rethrow_exception(step.error);
  return step.result;
}

bool StepScheduler::is_done(const ScheduledStep& step) {
  const std::lock_guard lock(mutex_);
  return step.done;
}

void StepScheduler::forget_error() {
  const std::lock_guard lock(mutex_);
  error_ = nullptr;
}

void StepScheduler::throw_error() {
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void StepScheduler::work(Worker& worker) {
  std::unique_lock lock(mutex_);
  for (bool connected = false; !stops_;) {
    if (!connected) {
      connected = connect(worker, lock);
      continue;
    }
    changed_.wait(lock, [&] { return stops_ || !waiting_.empty(); });
    if (stops_) return;
    const std::shared_ptr<ScheduledStep> step = waiting_.front();
    waiting_.pop_front();
    ++running_;
    changed_.notify_all();
    lock.unlock();
    Tensors result;
    std::exception_ptr error;
    bool lost = false;
    try {
      result = worker.run(*step);
    } catch (const TaskLost& gone) {
      logging::warn(
          fmt::format("ParameterServerStrategy: {} is lost; what it ran goes to another one. {}",
                      worker.name(), gone.what()));
      lost = true;
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --running_;
    if (lost) {
      connected = false;
      waiting_.push_front(step);
      changed_.notify_all();
    } else {
      finish(*step, std::move(result), std::move(error));
    }
  }
}

// Waits for it, with the lock let go. False: not yet.
bool StepScheduler::connect(Worker& worker, std::unique_lock<std::mutex>& lock) {
  for (int tries = 1; !stops_; ++tries) {
    lock.unlock();
    const std::string why = worker.connect();
    if (!why.empty() && tries % kSayAfter == 0) {
      logging::info(fmt::format("ParameterServerStrategy: waiting for {}. {}", worker.name(), why));
    }
    lock.lock();
    if (why.empty()) return true;
    changed_.wait_for(lock, kRetry, [&] { return stops_; });
  }
  return false;
}

// An error ends what waits, too.
void StepScheduler::finish(ScheduledStep& step, Tensors result, std::exception_ptr error) {
  step.done = true;
  step.result = std::move(result);
  step.error = error;
  if (error) {
    if (!error_) error_ = error;
    abort_waiting("one before it has failed");
  }
  changed_.notify_all();
}

void StepScheduler::abort_waiting(const char* why) {
  const auto aborted = std::make_exception_ptr(
      Aborted(fmt::format("ClusterCoordinator: this step wasn't run, since {}.", why)));
  for (const auto& step : std::exchange(waiting_, {})) {
    step->done = true;
    step->error = aborted;
  }
}

}  // namespace cornu::distribute
