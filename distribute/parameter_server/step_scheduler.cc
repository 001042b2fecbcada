// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/step_scheduler.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "distribute/parameter_server/step_worker.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/core/zeros.h"
#include "framework/graph/portable.h"
#include "framework/strategy/scheduled_step.h"

namespace cornu::distribute {
namespace {

constexpr size_t kMaxWaiting = 1024;  // queued steps per worker
constexpr std::chrono::milliseconds kRetry(200);
constexpr int kSayAfter = 25;  // attempts between log messages
constexpr std::chrono::seconds kHalting(3);

// Zero-filled arguments with the structure of those that a worker has.
std::vector<Tensors> arguments_like(const Json& needs) {
  std::vector<Tensors> arguments;
  for (const Json& argument : needs.as_array()) {
    std::vector<Tensors::Named> named;
    std::vector<Tensor> plain;
    for (const Json& type : argument.as_array()) {
      Tensor zeros = host_zeros(type[2].as_shape(), dtype_from_string(type[1].as_string()));
      if (type[0].is_null()) {
        plain.push_back(std::move(zeros));
      } else {
        named.emplace_back(type[0].as_string(), std::move(zeros));
      }
    }
    arguments.push_back(named.empty() ? Tensors(std::move(plain))
                                      : Tensors::named(std::move(named)));
  }
  return arguments;
}

}  // namespace

// A step for one signature: what workers are told about it. Servers know their part.
struct DefinedStep {
  std::string signature;
  Tensors structure;  // of the results, with undefined tensors
  bool has_key = false;
  CallMessage message;
  std::map<size_t, std::vector<int64_t>> updates;  // by server
  mutable std::atomic<bool> is_gone = false;       // nobody can use it any more
};

// A function whose steps are known to the tasks.
struct KnownFunction {
  int64_t number = 0;  // never reused
  std::vector<std::weak_ptr<const CompiledFunction>> compiled;
  std::map<std::string, std::shared_ptr<const DefinedStep>> steps;  // by signature

  // Whether the function is gone: neither the program (including what it was compiled to) nor a
  // queued or running step refers to it.
  static bool is_gone(const std::shared_ptr<KnownFunction>& known) {
    return known.use_count() == 1 &&
           std::ranges::all_of(known->compiled, [](const auto& one) { return one.expired(); });
  }
};

void ScheduledStep::release() {
  function = {};
  arguments.clear();
  dataset.reset();
  known.reset();
  defined.reset();
}

class StepScheduler::Worker {
 public:
  Worker(StepScheduler& scheduler, size_t index)
      : scheduler_(scheduler),
        index_(index),
        client_(scheduler.options_.workers[index], scheduler.options_.credentials),
        thread_([this] { scheduler_.work(*this); }) {}
  ~Worker() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  std::thread::id thread() const { return thread_.get_id(); }

  // Throws TaskLost, and what the step throws.
  Tensors run(const ScheduledStep& step) {
    const Tensor key = Tensor::from<uint32_t>(
        {static_cast<uint32_t>(step.key), static_cast<uint32_t>(step.key >> 32)});
    CallMessage answer;
    if (step.dataset) {
      answer = run_batch(step, key);
    } else {
      require(step.defined);
      CallMessage request{Json::object({{"signature", step.defined->signature},
                                        {"step", step.number},
                                        {"over", scheduler_.first_unfinished()}})};
      for (const Tensors& each : step.arguments) internal::flatten_into(request.tensors, each);
      request.tensors.push_back(key);
      answer = call("run", std::move(request));
    }
    const auto& defined = defined_.at(answer.json.at("signature").as_string());
    return defined->structure.with(std::move(answer.tensors));
  }

  // Makes the worker serve this job, again if it was lost. Returns why it doesn't, or "" if it
  // does.
  std::string connect() {
    defined_.clear();
    datasets_.clear();
    try {
      call("begin", {Json::object({{"type", "worker"}, {"servers", scheduler_.options_.servers}})});
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  std::string name() const { return fmt::format("worker {} ({})", index_, client_.address()); }

 private:
  CallMessage call(const std::string& method, CallMessage message) {
    message.json.set("job", scheduler_.options_.links->job());
    std::future<CallMessage> answer = client_.start(method, message);
    scheduler_.idle([&] { answer.wait(); });
    return answer.get();
  }

  CallMessage run_batch(const ScheduledStep& step, const Tensor& key) {
    require_dataset(*step.dataset);
    require(step.defined);
    CallMessage request{Json::object({{"function", step.known->number},
                                      {"dataset", step.dataset->number},
                                      {"held", false},
                                      {"step", step.number},
                                      {"over", scheduler_.first_unfinished()}}),
                        {key}};
    CallMessage answer = call("run", request);
    const Json* needs = answer.json.find("needs");
    if (!needs) return answer;
    require(scheduler_.defined(step.function, arguments_like(*needs)).step);
    request.json.set("held", true);
    return call("run", request);
  }

  // Ensures that the worker knows a step.
  void require(const std::shared_ptr<const DefinedStep>& defined) {
    if (defined_.contains(defined->signature)) return;
    forget_gone();
    call("define", defined->message);
    defined_.emplace(defined->signature, defined);
  }

  void require_dataset(const WorkerDataset& dataset) {
    if (datasets_.contains(dataset.number)) return;
    forget_gone();
    const auto bytes = std::make_shared<const std::string>(dataset.by_worker[index_]->to_bytes());
    const Tensor wrapped =
        Tensor::wrap(bytes->data(), {static_cast<int64_t>(bytes->size())}, DType::UInt8, bytes);
    call("dataset", {Json::object({{"dataset", dataset.number}}), {wrapped}});
    datasets_.emplace(dataset.number, dataset.weak_from_this());
  }

  // Called before the worker is told anything new.
  void forget_gone() {
    std::vector<std::string> signatures;
    std::vector<int64_t> datasets;
    for (const auto& [signature, defined] : defined_) {
      if (defined->is_gone) signatures.push_back(signature);
    }
    for (const auto& [number, dataset] : datasets_) {
      if (dataset.expired()) datasets.push_back(number);
    }
    if (signatures.empty() && datasets.empty()) return;
    call("forget", {Json::object({{"signatures", signatures}, {"datasets", datasets}})});
    for (const std::string& signature : signatures) defined_.erase(signature);
    for (const int64_t number : datasets) datasets_.erase(number);
  }

  StepScheduler& scheduler_;
  const size_t index_;
  CallClient client_;
  // What the worker knows; used by the thread only, like the next member.
  std::map<std::string, std::shared_ptr<const DefinedStep>> defined_;
  std::map<int64_t, std::weak_ptr<const WorkerDataset>> datasets_;
  std::thread thread_;
};

StepScheduler::StepScheduler(Options options) : options_(std::move(options)) {
  try {
    for (size_t i = 0; i < options_.workers.size(); ++i) {
      workers_.push_back(std::make_unique<Worker>(*this, i));
    }
  } catch (...) {  // out of threads: the existing ones wait for work
    stop();
    throw;
  }
  at_exit_.emplace([this](int) { halt(); });
}

StepScheduler::~StepScheduler() { stop(); }

void StepScheduler::stop() {
  at_exit_.reset();
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (auto& worker : workers_) worker->join();
  const std::lock_guard lock(mutex_);
  abort_waiting({}, "the strategy has ended");
  changed_.notify_all();
}

void StepScheduler::halt() {
  const size_t own = is_own_thread() ? 1 : 0;
  std::unique_lock lock(mutex_);
  halts_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kHalting, [&] { return busy_ <= own; });
}

void StepScheduler::begin_work(std::unique_lock<std::mutex>& lock) {
  ++busy_;
  lock.unlock();
}

void StepScheduler::end_work(std::unique_lock<std::mutex>& lock) {
  lock.lock();
  --busy_;
  if (halts_) changed_.notify_all();
}

void StepScheduler::idle(FunctionRef<void()> wait) {
  std::unique_lock lock(mutex_);
  --busy_;
  if (halts_) changed_.notify_all();
  lock.unlock();
  wait();
  lock.lock();
  if (halts_) throw Halted();
  ++busy_;
}

bool StepScheduler::is_own_thread() const {
  return std::ranges::any_of(
      workers_, [](const auto& worker) { return worker->thread() == std::this_thread::get_id(); });
}

uint64_t StepScheduler::new_owner() {
  const std::lock_guard lock(mutex_);
  return ++owners_;
}

int64_t StepScheduler::new_number() {
  const std::lock_guard lock(mutex_);
  return ++numbers_;
}

StepScheduler::Known StepScheduler::defined(const Function& function,
                                            const std::vector<Tensors>& arguments) {
  const std::lock_guard lock(defining_);
  std::shared_ptr<KnownFunction>& known = functions_[function.number()];
  if (!known) {
    known = std::make_shared<KnownFunction>();
    known->number = new_number();
    const std::shared_ptr<KnownFunction> stays = known;
    drop_gone();
  }
  const std::string signature = step_signature(known->number, arguments);
  auto found = known->steps.find(signature);
  if (found == known->steps.end()) {
    auto step = define(*known, function, arguments, signature);
    found = known->steps.emplace(signature, std::move(step)).first;
  }
  return {known, found->second};
}

// Drops on the servers what programs no longer use, to make room; workers are notified separately.
void StepScheduler::drop_gone() {
  std::map<size_t, std::vector<int64_t>> updates;
  std::erase_if(functions_, [&](const auto& known) {
    if (!KnownFunction::is_gone(known.second)) return false;
    for (const auto& [signature, step] : known.second->steps) {
      step->is_gone = true;
      for (const auto& [server, numbers] : step->updates) {
        updates[server].insert(updates[server].end(), numbers.begin(), numbers.end());
      }
    }
    return true;
  });
  std::vector<ServerCall> calls;
  for (const auto& [server, numbers] : updates) {
    calls.push_back({server, {Json::object({{"updates", numbers}})}});
  }
  if (!calls.empty()) options_.links->call("drop", std::move(calls));
}

// Sends the servers their parts, and prepares the worker's.
std::shared_ptr<const DefinedStep> StepScheduler::define(KnownFunction& known,
                                                         const Function& function,
                                                         const std::vector<Tensors>& arguments,
                                                         const std::string& signature) {
  std::shared_ptr<const CompiledFunction> shared;
  {
    const StrategyScope scope(options_.strategy());
    const Replica only;
    const ReplicaScope in_step(&only);
    const ScheduledStepScope scheduled;
    shared = function.compiled_for(arguments);
  }
  known.compiled.push_back(shared);
  const CompiledFunction& compiled = *shared;
  auto defined = std::make_shared<DefinedStep>();
  defined->signature = signature;
  defined->structure = compiled.structure;
  defined->has_key = compiled.has_key;
  const DividedStep divided = divide_step(compiled.graph, [&](const Variable& variable) {
    return options_.variables->placement(variable);
  });
  const Json updates = define_updates(divided, *defined);
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

// Describes where a variable's shards are.
Json StepScheduler::described(const Variable& variable) const {
  Json::Array shards;
  for (const ShardPlace& place : options_.variables->places(variable)) {
    shards.push_back(Json::array({static_cast<int64_t>(place.server), place.key}));
  }
  return Json::object({{"shape", variable.shape()}, {"shards", shards}});
}

// Sends the servers their parts; returns what workers need to know about them.
Json StepScheduler::define_updates(const DividedStep& divided, DefinedStep& defined) {
  Json::Array updates;
  for (const ServerUpdate& update : divided.updates) {
    check<Unimplemented>(update.chooses_by.empty() || worker_count() == 1,
                         "ParameterServerStrategy: what server {} updates depends on whether '{}', "
                         "which another server keeps, has come so far (gradient accumulation, "
                         "ema_overwrite_frequency): several workers would disagree. Use one "
                         "parameter server for that.",
                         update.server, update.chooses_by);
    std::vector<std::string> keys;
    for (const ShardOf& state : update.states) {
      keys.push_back(shard_key(state.variable.number(), state.shard));
    }
    const PortableGraph graph = to_portable(update.graph);
    options_.links->call(
        "define", update.server,
        {Json::object({{"update", ++updates_}, {"graph", graph.text}, {"keys", keys}}),
         graph.constants});
    defined.updates[update.server].push_back(updates_);
    const std::vector<int64_t> sent(update.sent.begin(), update.sent.end());
    updates.push_back(Json::object(
        {{"server", static_cast<int64_t>(update.server)}, {"update", updates_}, {"sent", sent}}));
  }
  return updates;
}

std::shared_ptr<ScheduledStep> StepScheduler::schedule(ScheduledStep step) {
  const Known known = defined(step.function, step.dataset ? step.dataset->sample : step.arguments);
  step.known = known.function;
  step.defined = known.step;
  if (step.defined->has_key) step.key = next_key();
  auto shared = std::make_shared<ScheduledStep>(std::move(step));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return (error_ && shared->owner == 0) || stops_ ||
           waiting_.size() < kMaxWaiting * workers_.size();
  });
  if (shared->owner == 0) throw_error();
  check<FailedPrecondition>(!stops_, "ParameterServerStrategy has ended: it runs no more steps.");
  shared->generation = generation_;
  shared->number = ++steps_;
  unfinished_.insert(unfinished_.end(), shared->number);
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

void StepScheduler::throw_error() {
  if (!error_) return;
  ++generation_;
  std::rethrow_exception(std::exchange(error_, nullptr));
}

void StepScheduler::work(Worker& worker) {
  try {
    serve(worker);
  } catch (const Halted&) {
  }
}

void StepScheduler::serve(Worker& worker) {
  std::unique_lock lock(mutex_);
  for (bool connected = false; !stops_ && !halts_;) {
    if (!connected) {
      connected = connect(worker, lock);
      continue;
    }
    changed_.wait(lock, [&] { return stops_ || halts_ || !waiting_.empty(); });
    if (stops_ || halts_) return;
    const std::shared_ptr<ScheduledStep> step = waiting_.front();
    waiting_.pop_front();
    ++running_;
    changed_.notify_all();
    begin_work(lock);
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
    } catch (const Halted&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    if (!lost) step->release();
    end_work(lock);
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

// Keeps trying to connect, with the lock released. Returns false when the scheduler stops. If the
// servers are gone, too, or serve another coordinator, there is nothing to wait for, and queued
// steps fail.
bool StepScheduler::connect(Worker& worker, std::unique_lock<std::mutex>& lock) {
  for (int tries = 1; !stops_ && !halts_; ++tries) {
    begin_work(lock);
    const std::string why = worker.connect();
    std::exception_ptr over;
    if (!why.empty() && tries % kSayAfter == 0) {
      logging::info(fmt::format("ParameterServerStrategy: waiting for {}. {}", worker.name(), why));
      over = error_of_servers();
    }
    end_work(lock);
    if (over) fail_waiting(over);
    if (why.empty()) return true;
    changed_.wait_for(lock, kRetry, [&] { return stops_ || halts_; });
  }
  return false;
}

// An error also aborts the queued steps.
void StepScheduler::finish(ScheduledStep& step, Tensors result, std::exception_ptr error) {
  step.result = std::move(result);
  end(step, error);
  const bool counts = step.owner != 0 || step.generation == generation_;
  if (error && counts) {
    if (step.owner == 0 && !error_) error_ = error;
    abort_waiting(step.owner, "one before it has failed");
  }
  changed_.notify_all();
}

void StepScheduler::end(ScheduledStep& step, std::exception_ptr error) {
  step.done = true;
  step.error = std::move(error);
  unfinished_.erase(step.number);
}

// All steps with lower numbers are over, wherever they have been run.
int64_t StepScheduler::first_unfinished() {
  const std::lock_guard lock(mutex_);
  return *unfinished_.begin();
}

std::exception_ptr StepScheduler::error_of_servers() const {
  const std::vector<std::string> none;
  std::vector<ServerCall> calls;
  for (size_t i = 0; i < options_.servers.size(); ++i) {
    calls.push_back({i, {Json::object({{"keys", none}, {"versions", std::vector<int64_t>()}})}});
  }
  try {
    options_.links->call("read", std::move(calls));
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void StepScheduler::fail_waiting(const std::exception_ptr& error) {
  for (const auto& step : std::exchange(waiting_, {})) {
    end(*step, error);
    if (step->owner == 0 && !error_) error_ = error;
  }
  changed_.notify_all();
}

void StepScheduler::abort_waiting(std::optional<uint64_t> owner, const char* why) {
  const auto aborted = std::make_exception_ptr(
      Aborted(fmt::format("ClusterCoordinator: this step wasn't run, since {}.", why)));
  std::erase_if(waiting_, [&](const std::shared_ptr<ScheduledStep>& step) {
    if (owner && step->owner != *owner) return false;
    end(*step, aborted);
    return true;
  });
}

}  // namespace cornu::distribute
