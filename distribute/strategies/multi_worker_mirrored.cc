// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/multi_worker_mirrored.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <mutex>
#include <span>
#include <utility>

#include "distribute/cluster/at_exit.h"
#include "distribute/cluster/cluster.h"
#include "distribute/cluster/credentials.h"
#include "distribute/strategies/clocks.h"
#include "distribute/strategies/job_files.h"
#include "distribute/strategies/known_values.h"
#include "distribute/strategies/one_caller.h"
#include "distribute/strategies/replicated.h"
#include "distribute/strategies/step_collectives.h"
#include "distribute/strategies/worker_options.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/io/console.h"
#include "framework/ops/ops.h"
#include "framework/strategy/exchange_tensors.h"
#include "framework/strategy/job_end.h"
#include "framework/strategy/own_batches.h"

namespace cornu::distribute {
namespace {

constexpr const char* kName = kMultiWorkerMirrored;
constexpr size_t kBytesPerPackOfWorker = size_t{128} << 10;

// What a worker announces at the beginning of a step.
struct StepNotice {
  uint64_t key = 0;  // for random numbers; worker 0's counts
  int64_t examples = 0;
  uint64_t calls = 0;  // a hash of the step's name and collectives
  uint32_t bits = 0;
  uint32_t has_new = 0;   // as in KnownValues::Account
  uint32_t order = 0;     // how recently it was run (RunOrder)
  uint32_t failures = 0;  // failed calls of this worker's own
  uint64_t writes = 0;    // as in KnownValues::Account

  bool is_same_step(const StepNotice& other) const {
    return calls == other.calls && order == other.order && failures == other.failures;
  }
};

std::atomic<int> strategies_made = 0;
// How many of them all workers have reached the end of.
std::atomic<int> strategies_ended = 0;
// How many exist now.
std::atomic<int> strategies_now = 0;

// Exits without calling destructors.
[[noreturn]] void end_process(int code) {
  std::fflush(nullptr);
  std::cout.flush();
  std::_Exit(code);
}

std::string text_of_unfinished(const std::string& why) {
  return fmt::format(
      "{}: this worker's program has come to its end, but not those of all workers: {} It ends "
      "with code {}, so that it is restarted; it resumes from the last saved state.",
      kName, why, kUnfinishedExitCode);
}

class MultiWorkerMirrored : public MirroredReplicas,
                            public std::enable_shared_from_this<MultiWorkerMirrored> {
 public:
  MultiWorkerMirrored(std::vector<Device> devices, ClusterOptions options,
                      const CommunicationOptions& communication)
      : MirroredReplicas(kName, std::move(devices), CrossDeviceOps()),
        cluster_(std::move(options)),
        bytes_per_pack_(static_cast<size_t>(communication.bytes_per_pack)),
        compression_(communication.compression),
        implementation_(communication.implementation),
        timeout_(timeout_of(communication)) {
    begin();
  }
  ~MultiWorkerMirrored() override;

  int64_t num_replicas_in_sync() const override {
    return cluster_.size() * static_cast<int64_t>(devices().size());
  }
  int64_t num_workers() const override { return cluster_.size(); }
  int64_t worker() const override { return cluster_.rank(); }
  bool is_chief() const override { return cluster_.rank() == 0; }
  size_t bytes_per_pack() const override {
    if (bytes_per_pack_ > 0) return bytes_per_pack_;
    // In a large ring, a pack must be worth the latency of its hops (docs/benchmarks.md).
    return std::max(MirroredReplicas::bytes_per_pack(),
                    kBytesPerPackOfWorker * static_cast<size_t>(num_workers()));
  }

  std::optional<DType> gradient_dtype() const override { return compression_; }
  bool exchanges_rows() const override { return all_on_cpus_; }

  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    auto own = source->divide(num_workers())->shard(num_workers(), worker());
    const auto* of_each = dynamic_cast<const OfEachWorker*>(source.get());
    const bool is_own = of_each && of_each->is_each_workers_own();
    return is_own ? make_own_batches(shared_from_this(), std::move(own)) : own;
  }

  void prepare(const Function& step, const std::vector<std::vector<Tensors>>& arguments) override;
  Tensor reduce(ReduceOp op, const std::vector<Tensor>& by_replica,
                const std::string& call) override;
  std::vector<std::string> exchange(std::string_view what, const std::string& own) override {
    const OneCaller::Call call = begin_call();
    const std::lock_guard one_at_a_time(steps_);
    return guarded([&] { return group().exchange(what, own); });
  }
  uint32_t agree(uint32_t mask, uint32_t bits) override {
    const std::lock_guard lock(steps_);
    wished_ = (wished_ & ~mask) | (bits & mask);
    return agreed_ & mask;
  }
  void rejoin(const PeerLost& lost) override {
    logging::info(fmt::format("{}: waiting for worker {} ({}) to come back.", name(), lost.rank(),
                              lost.address()));
    form(lost.rank());
  }
  std::optional<PeerLost> lost_worker() override {
    return group_ ? group_->lost_peer() : std::nullopt;
  }
  // Set by `cornu launch`.
  bool restarts_workers() const override { return std::getenv("CORNU_RESTARTS") != nullptr; }
  void fail(const std::string& why) override {
    told_ = true;
    cluster_.stop(why);
  }
  void tell_of_failure(const std::exception& error, const std::string& before) override {
    cluster_.tell_of_failure(error, before);
  }
  void when_all_are_done(std::function<void()> clean_up) override {
    clean_ups_.push_back(std::move(clean_up));
  }
  void pass_on() override { caller_.reset(); }
  // Called when the process ends by exit(0), or at the end of main, while something still holds
  // this strategy, e.g. a leaked model.
  void leave_at_exit();
  void clean_up_now() override {
    for (const auto& clean_up : std::exchange(clean_ups_, {})) clean_up();
  }

 protected:
  Group take_group() override {
    if (!in_step_) return MirroredReplicas::take_group();
    Group ends = WorkerCollectives::ends(group_);
    return connection_ ? connection_->over(std::move(ends)) : std::move(ends);
  }
  void give_back(Group group) override {
    if (!in_step_) MirroredReplicas::give_back(std::move(group));
  }
  int64_t first_replica() const override {
    return cluster_.rank() * static_cast<int64_t>(devices().size());
  }
  void meet(const Function& step, std::vector<Replica>& replicas, std::optional<uint64_t>& key,
            const std::vector<Compiled>& functions) override;
  void on_untraced(const Function& step, const std::exception& error) override {
    if (runs_alone()) return;
    tell_of_failure(error, fmt::format("can't run the step '{}'", step.options().name));
  }
  void run_step(const std::function<void()>& step) override {
    const OneCaller::Call call = begin_call();
    const std::lock_guard one_at_a_time(steps_);
    in_step_ = true;
    cluster_.set_step(++step_);
    try {
      guarded([&] { return step(), 0; });
    } catch (...) {
      in_step_ = false;
      throw;
    }
    in_step_ = false;
  }

 private:
  void begin();
  std::string leave();
  WorkerCollectives& group() { return *group_; }
  void form(std::optional<int> lost);
  void leave_group();
  void settle_devices();
  void connect_devices(const std::vector<std::string>& types);
  void take_values(const std::vector<Compiled>& functions,
                   const std::vector<KnownValues::Account>& by_worker, bool prepares);
  void require_same_steps(const CompiledFunction& function, uint32_t order);

  // If two threads make calls, their results may already belong to the wrong calls: all workers
  // end.
  OneCaller::Call begin_call() {
    return guarded([&] { return OneCaller::Call(caller_); });
  }

  // An error here also ends the other workers' steps, unless it came from them.
  template <class F>
  auto guarded(F f) -> decltype(f()) {
    try {
      return f();
    } catch (const PeerLost&) {
      told_ = true;
      throw;
    } catch (const Aborted&) {
      told_ = true;
      throw;
    } catch (const std::exception& error) {
      told_ = true;
      settle_devices();  // before the others are told to stop
      cluster_.stop(error.what());
      throw;
    }
  }

  Cluster cluster_;
  bool has_left_ = false;
  std::vector<std::function<void()>> clean_ups_;
  const int exceptions_ = std::uncaught_exceptions();
  std::atomic<bool> told_ = false;  // the program knows that the group has ended
  const size_t bytes_per_pack_;     // 0: the default
  bool all_on_cpus_ = false;        // the replicas of all workers
  const std::optional<DType> compression_;
  const CommunicationImplementation implementation_;
  const std::chrono::milliseconds timeout_;
  std::shared_ptr<WorkerCollectives> group_;
  std::shared_ptr<GroupConnection> connection_;  // null: through host memory
  OneCaller caller_{kName};
  std::recursive_mutex steps_;  // agree() may be called from any thread
  static thread_local bool in_step_;
  int64_t step_ = 0;
  uint32_t wished_ = 0;
  uint32_t agreed_ = 0;
  CollectiveHashes hashes_{GatheredSizes::Alike};
  RunOrder run_order_;  // for this group
  KnownValues known_values_;
  std::optional<AtExit> at_exit_;  // once the group has formed
};

thread_local bool MultiWorkerMirrored::in_step_ = false;

void MultiWorkerMirrored::begin() {
  if (++strategies_made > 1) take_back_end();
  tell_that_job_begins();
  form({});
  at_exit_.emplace([this](int code) {
    if (code == 0) leave_at_exit();  // otherwise the others notice that it is lost
  });
  ++strategies_now;
}

// Returns why not all workers have reached the end of their programs; empty if they have, or if the
// program knows the reason.
std::string MultiWorkerMirrored::leave() {
  try {
    has_left_ = true;
    if (told_) {
      settle_devices();
    } else if (connection_) {
      connection_->settle();
    }
    const std::exception_ptr why = cluster_.leave(
        [this] { tell_that_job_is_over(told_ ? Json::object() : JobEnd::get().to_json()); });
    if (why && !told_) std::rethrow_exception(why);
    if (!why && !told_) {
      ++strategies_ended;
      clean_up_now();
    }
    JobEnd::get().forget();
    connection_.reset();  // this worker's devices are no longer needed
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// A worker that dies when others have reached the end of their programs needs them again: to
// restore the last state, and to do the remaining work. So they must be restarted, too.
MultiWorkerMirrored::~MultiWorkerMirrored() {
  if (at_exit_) --strategies_now;
  at_exit_.reset();
  if (!has_left_ && std::uncaught_exceptions() > exceptions_) settle_devices();
  if (has_left_ || std::uncaught_exceptions() > exceptions_) return;
  const std::string why = leave();
  if (why.empty()) return;
  logging::warn(text_of_unfinished(why));
  end_process(kUnfinishedExitCode);
}

// During a call or a step, on any thread, others still need this worker. The logger may be gone.
void MultiWorkerMirrored::leave_at_exit() {
  if (has_left_) return;
  const std::unique_lock lock(steps_, std::try_to_lock);
  if (!lock || in_step_ || JobEnd::get().is_in_call()) {
    console::write_error(fmt::format(
        "{}: this worker's program ends by exit(0) before its strategy has gone, while the others "
        "compute with it. It ends with code {}, to be restarted.\n",
        kName, kUnfinishedExitCode));
    end_process(kUnfinishedExitCode);
  }
  const std::string why = leave();
  if (why.empty()) return;
  console::write_error(text_of_unfinished(why) + "\n");
  end_process(kUnfinishedExitCode);
}

// Anything that isn't seeded uses worker 0's random numbers: shuffles and initial values must be
// identical.
void MultiWorkerMirrored::form(std::optional<int> lost) {
  leave_group();
  const bool was_there = lost.has_value();  // in a group before
  while (true) {
    try {
      group_ = cluster_.form(lost);
      told_ = false;
      known_values_.begin_group();
      run_order_.clear();
      agreed_ = wished_ = 0;
      const SeedSequence own = seed_sequence();
      const std::vector<std::string> types =
          exchange("types of devices", std::string(to_string(devices().front().type)));
      all_on_cpus_ = all_have(types, DeviceType::Cpu);
      guarded([&] { return connect_devices(types), 0; });
      const std::string seed = exchange("seeds", std::to_string(own.seed)).front();
      compare_clocks(name(), [this](std::string_view what, const std::string& own_time) {
        return exchange(what, own_time);
      });
      if (!own.chosen && !was_there) {
        restore_seed_sequence({.seed = static_cast<uint64_t>(std::stoull(seed)), .drawn = 0});
      }
      caller_.reset();
      return;
    } catch (const PeerLost& another) {
      leave_group();
      lost = another.rank();
    } catch (const JobOver& over) {
      logging::warn(over.what());
      remove_obsolete_states();
      end_process(0);
    }
  }
}

// Afterwards, everything that others need of this worker's devices is done.
void MultiWorkerMirrored::settle_devices() {
  try {
    if (connection_) connection_->settle();
  } catch (const std::exception&) {  // the reason why the group ended, which is known
  }
}

// Leaves nothing of the group to the next one.
void MultiWorkerMirrored::leave_group() {
  settle_devices();
  connection_.reset();
  group_.reset();
}

void MultiWorkerMirrored::connect_devices(const std::vector<std::string>& types) {
  const bool over_tls = cluster_.is_over_tls();
  const bool have_gpus = all_have(types, DeviceType::Gpu);
  if (have_gpus && prefers_devices(implementation_, over_tls)) {
    connection_ = backend_for(devices().front()).connect_processes(devices(), group_, timeout_);
  }
  warn_of_nccl(implementation_, have_gpus, connection_ != nullptr, over_tls);
}

void MultiWorkerMirrored::meet(const Function& step, std::vector<Replica>& replicas,
                               std::optional<uint64_t>& key,
                               const std::vector<Compiled>& functions) {
  const std::vector<double> own_sums = replicas.front().sums;
  const KnownValues::Account account = known_values_.account_of(functions);
  StepNotice notice{.key = key.value_or(0),
                    .calls = hashes_.of(functions.front()),
                    .bits = wished_,
                    .has_new = account.has_new,
                    .order = run_order_.run(step.number()),
                    .failures = group().own_failures(),
                    .writes = account.writes};
  for (const Replica& replica : replicas) notice.examples += replica.examples;
  std::vector<std::byte> own(sizeof notice + own_sums.size() * sizeof(double));
  std::memcpy(own.data(), &notice, sizeof notice);
  std::ranges::copy(std::as_bytes(std::span(own_sums)), own.begin() + sizeof notice);
  const std::vector<std::byte> all = group().exchange_bytes(own);
  agreed_ = 0;
  bool is_same = true;
  std::vector<KnownValues::Account> accounts;
  int64_t before = 0;
  std::vector<double> sums(own_sums.size());
  for (int64_t w = 0; w < num_workers(); ++w) {
    const std::byte* theirs = all.data() + static_cast<size_t>(w) * own.size();
    StepNotice said;
    std::memcpy(&said, theirs, sizeof said);
    agreed_ |= said.bits;
    accounts.push_back({.has_new = said.has_new != 0, .writes = said.writes});
    is_same = is_same && said.is_same_step(notice);
    if (w == 0 && key) key = said.key;
    if (w < worker()) before += said.examples;
    for (size_t k = 0; k < sums.size(); ++k) {
      double part = 0;
      std::memcpy(&part, theirs + sizeof said + k * sizeof part, sizeof part);
      sums[k] += part;
    }
  }
  if (!is_same) require_same_steps(*functions.front(), notice.order);
  for (Replica& replica : replicas) {
    replica.first_example += before;
    replica.sums = sums;
  }
  take_values(functions, accounts, false);
  known_values_.begin_step(functions);
}

void MultiWorkerMirrored::require_same_steps(const CompiledFunction& function, uint32_t order) {
  const StepOfWorker own{
      .name = function.name, .order = order, .calls = collectives_in(function.graph)};
  const auto by_worker = group().exchange("calls of a step", own.to_json().dump());
  const StepOfWorker first = StepOfWorker::from_json(Json::parse(by_worker.front()));
  for (size_t worker = 1; worker < by_worker.size(); ++worker) {
    distribute::require_same_steps(name(), first,
                                   StepOfWorker::from_json(Json::parse(by_worker[worker])),
                                   static_cast<int64_t>(worker));
  }
}

void MultiWorkerMirrored::prepare(const Function& step,
                                  const std::vector<std::vector<Tensors>>& arguments) {
  const OneCaller::Call call = begin_call();
  const std::lock_guard one_at_a_time(steps_);
  const std::vector<Compiled> functions = traced(step, arguments).functions;
  const KnownValues::Account own = known_values_.account_of(functions);
  const Json told =
      Json::object({{"has_new", own.has_new}, {"writes", static_cast<int64_t>(own.writes)}});
  std::vector<KnownValues::Account> accounts;
  for (const std::string& text : exchange("new variables", told.dump())) {
    const Json theirs = Json::parse(text);
    accounts.push_back({.has_new = theirs.at("has_new").as_bool(),
                        .writes = static_cast<uint64_t>(theirs.at("writes").as_int())});
  }
  guarded([&] { return take_values(functions, accounts, true), 0; });
}

void MultiWorkerMirrored::take_values(const std::vector<Compiled>& functions,
                                      const std::vector<KnownValues::Account>& by_worker,
                                      bool prepares) {
  if (!KnownValues::may_differ(by_worker)) return;
  const auto exchanged = [this](std::string_view what, const std::string& own) {
    return group().exchange(what, own);
  };
  const KnownValues::Member member{.strategy = name(), .worker = worker(), .exchange = exchanged};
  known_values_.take(functions, member,
                     {.warns = KnownValues::may_lose(by_worker), .prepares = prepares});
}

Tensor MultiWorkerMirrored::reduce(ReduceOp op, const std::vector<Tensor>& by_replica,
                                   const std::string& call) {
  const bool is_mean = op == ReduceOp::Mean;
  Tensor local;  // for a mean, the sum
  try {
    if (!by_replica.empty()) {
      local = MirroredReplicas::reduce(is_mean ? ReduceOp::Sum : op, by_replica, call).host();
    }
  } catch (const std::exception& error) {
    tell_of_failure(error, "can't reduce its values");
    throw;
  }
  const Tensor result = reduce_over_workers(*this, op, local, call);
  return is_mean ? result / num_replicas_in_sync() : result;
}

// The evaluator's strategy.
class Evaluating : public MirroredReplicas {
 public:
  using MirroredReplicas::MirroredReplicas;
  void require_training(const char* call) const override {
    raise<FailedPrecondition>(
        "Strategy '{}': {} was called by the task 'evaluator', which takes no part in training: it "
        "would train alone, and write to the directories of the workers' chief. Let a program that "
        "finds itself in this role (resolve_default()->task()) evaluate what the others write: "
        "SidecarEvaluator(model, dataset, options).start().",
        name(), call);
  }
};

// The strategy of tasks that take no part in the workers' training; null for chief and workers, and
// without a cluster.
std::shared_ptr<StrategyImpl> strategy_of_others(const std::optional<Task>& task,
                                                 const std::vector<Device>& devices) {
  if (!task || task->type == "chief" || task->type == "worker") return nullptr;
  check<FailedPrecondition>(
      task->type == "evaluator",
      "{}: this process is the task {}, which takes no part in training: only "
      "chief and workers do. Let a program that finds itself in this role "
      "(resolve_default()->task()) do what the role is for, or end.",
      kName, to_string(*task));
  logging::info(fmt::format("{}: this is the evaluator, which works alone.", kName));
  return std::make_shared<Evaluating>(kName, devices, CrossDeviceOps());
}

std::vector<std::string> addresses_of_workers(const ClusterSpec& spec) {
  std::vector<std::string> addresses;
  for (const Task& task : workers(spec)) addresses.push_back(spec.task_address(task));
  return addresses;
}

std::shared_ptr<StrategyImpl> make(const MultiWorkerMirroredStrategyOptions& options) {
  const CommunicationOptions& communication = options.communication_options;
  require_valid(communication);
  Communication implementation = implementation_of(communication);
  const auto timeout = timeout_of(communication);
  const auto join_timeout = join_timeout_of(options);
  std::vector<Device> devices = parse_devices(kName, options.devices);
  const std::optional<ClusterResolver> resolver =
      options.cluster_resolver ? options.cluster_resolver : resolve_default();
  const ClusterSpec spec = resolver ? resolver->cluster_spec() : ClusterSpec();
  const std::optional<Task> task = resolver ? resolver->task() : std::nullopt;
  if (auto alone = strategy_of_others(task, devices)) return alone;
  std::vector<std::string> addresses = addresses_of_workers(spec);
  if (addresses.size() < 2) {
    logging::info(fmt::format("{}: a single worker, since {}.", kName,
                              resolver
                                  ? "the cluster has no other one"
                                  : "the environment names no cluster (TF_CONFIG is not set)"));
    return std::make_shared<MirroredReplicas>(kName, std::move(devices), CrossDeviceOps());
  }
  check<InvalidArgument>(task.has_value(),
                         "{}: {} names a cluster, but not which of its tasks this process is.",
                         kName, resolver->name());
  check<FailedPrecondition>(
      strategies_now == 0,
      "{}: this process has another one already, which the other workers reach at the same "
      "address. Let that one go before: all of its handles, and the models and datasets that were "
      "made with it.",
      kName);
  const auto replicas = static_cast<int>(devices.size());
  std::function<std::vector<std::string>()> renew;
  if (resolver->addresses_change()) {
    renew = [resolver] {
      const auto spec = resolver->renewed_cluster_spec();
      return spec ? addresses_of_workers(*spec) : std::vector<std::string>();
    };
  }
  ClusterOptions cluster{.rank = static_cast<int>(id_in_cluster(spec, *task)),
                         .addresses = std::move(addresses),
                         .replicas = replicas,
                         .facts = facts_of(communication, replicas, strategies_ended + 1),
                         .communication = std::move(implementation),
                         .collectives = {.narrow_sums = communication.compression.has_value()},
                         .timeout = timeout,
                         // Only a process's first strategy can be one that starts too late.
                         .job_is_over = strategies_made == 0 ? job_is_over : [] { return false; },
                         .insecure = options.insecure || is_insecure(),
                         .identity = TlsIdentity::of_environment(),
                         .renew = std::move(renew),
                         .join_timeout = join_timeout};
  return std::make_shared<MultiWorkerMirrored>(std::move(devices), std::move(cluster),
                                               communication);
}

}  // namespace

MultiWorkerMirroredStrategy::MultiWorkerMirroredStrategy(
    const MultiWorkerMirroredStrategyOptions& options)
    : Strategy(make(options)) {}

}  // namespace cornu::distribute
