// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/parameter_server.h"

#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "distribute/cluster/credentials.h"
#include "distribute/parameter_server/job_ends.h"
#include "distribute/parameter_server/schedules_steps.h"
#include "distribute/parameter_server/step_scheduler.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/variable_bindings.h"

namespace cornu::distribute {
namespace {

constexpr char kStrategy[] = "ParameterServerStrategy";
constexpr std::chrono::milliseconds kRetryServer(200);
constexpr int kSayAfterTries = 25;

class ParameterServers : public StrategyImpl, public SchedulesSteps {
 public:
  ParameterServers(std::vector<std::string> workers, std::vector<std::string> servers,
                   CallCredentials credentials, Partitioner partitioner)
      : workers_(std::move(workers)),
        servers_(std::move(servers)),
        credentials_(std::move(credentials)),
        links_(std::make_shared<ServerLinks>(servers_, random_hex(), credentials_)),
        variables_(std::make_shared<RemoteVariables>(links_, std::move(partitioner))) {}

  ~ParameterServers() override {
    scheduler_.reset();
    leave_job(tasks());
  }

  // Waits for the servers, then lets the workers begin. `own`: the strategy that steps are traced
  // in.
  void begin(const std::weak_ptr<StrategyImpl>& own) {
    for (size_t i = 0; i < servers_.size(); ++i) await_server(i);
    end_job_at_exit(tasks());
    scheduler_ = std::make_unique<StepScheduler>(
        StepScheduler::Options{.workers = workers_,
                               .servers = servers_,
                               .credentials = credentials_,
                               .links = links_,
                               .variables = variables_,
                               .strategy = [own] { return own.lock(); }});
  }

  std::string name() const override { return kStrategy; }
  int64_t num_replicas_in_sync() const override { return 1; }
  std::vector<Device> devices() const override { return {Device{}}; }
  std::shared_ptr<VariableHome> home_of(const Variable& variable, const Tensor& value) override {
    return variables_->add(variable, value);
  }

  // Within a step run by a worker, `step` becomes part of that step.
  std::vector<Tensors> run(const Function& step,
                           const std::vector<std::vector<Tensors>>& arguments) override {
    CORNU_ASSERT(arguments.size(), ==, size_t{1});
    std::vector<Tensors> results;
    if (current_replica()) {
      results.push_back(step.run(arguments[0]));
    } else {
      const auto scheduled = schedule(step, arguments[0], scheduler_->new_owner());
      results.push_back(scheduler_->result(*scheduled));
    }
    return results;
  }

  // At most two steps per worker are in flight.
  std::vector<Tensors> begin_step(const Function& step,
                                  const std::vector<std::vector<Tensors>>& arguments) override {
    if (current_replica()) return run(step, arguments);
    StepsAhead& own = steps_ahead();
    own.begun.push_back(schedule(step, arguments[0], own.owner));
    while (!own.begun.empty() && (own.latest.empty() || own.begun.size() > 2 * workers_.size() ||
                                  scheduler_->is_done(*own.begun.front()))) {
      finish_first(own);
    }
    return own.latest;
  }
  // Waits for all steps, even if one has failed.
  std::vector<Tensors> finish_steps() override {
    StepsAhead& own = steps_ahead();
    std::exception_ptr first;
    while (!own.begun.empty()) {
      try {
        finish_first(own);
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    }
    if (first) std::rethrow_exception(first);
    return own.latest;
  }
  void end_steps() override {
    try {
      finish_steps();
    } catch (const std::exception&) {  // the error that ends the run is more informative
    }
    const std::lock_guard lock(mutex_);
    ahead_.erase(std::this_thread::get_id());
  }

  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    return source;
  }
  std::vector<Batch> split(const Batch& batch) override { return {batch}; }
  Tensor reduce(ReduceOp, const std::vector<Tensor>& by_replica, const std::string&) override {
    return by_replica.front();
  }
  StepScheduler& scheduler() override { return *scheduler_; }

 private:
  // The steps of one thread's fit.
  struct StepsAhead {
    uint64_t owner = 0;
    std::deque<std::shared_ptr<ScheduledStep>> begun;
    std::vector<Tensors> latest;  // results; empty: none
  };
  StepsAhead& steps_ahead() {
    const std::lock_guard lock(mutex_);
    StepsAhead& own = ahead_[std::this_thread::get_id()];
    if (own.owner == 0) own.owner = scheduler_->new_owner();
    return own;
  }
  std::shared_ptr<ScheduledStep> schedule(const Function& step,
                                          const std::vector<Tensors>& arguments, uint64_t owner) {
    check<FailedPrecondition>(!VariableBindings::active(),
                              "{}: another thread computes this model's metrics, which the servers "
                              "keep. Run fit and evaluate of one model one after the other.",
                              kStrategy);
    return scheduler_->schedule({.function = step, .arguments = arguments, .owner = owner});
  }
  void finish_first(StepsAhead& steps) {
    const std::shared_ptr<ScheduledStep> first = steps.begun.front();
    steps.begun.pop_front();
    steps.latest = {scheduler_->result(*first)};
  }

  JobTasks tasks() const {
    JobTasks tasks{workers_, links_->job(), credentials_};
    tasks.addresses.insert(tasks.addresses.end(), servers_.begin(), servers_.end());
    return tasks;
  }

  void await_server(size_t server) {
    for (int tries = 1;; ++tries) {
      try {
        return links_->begin(server);
      } catch (const TaskLost& lost) {
        if (tries % kSayAfterTries == 0) {
          logging::info(fmt::format("{}: waiting for parameter server {}. {}", kStrategy, server,
                                    lost.what()));
        }
      }
      std::this_thread::sleep_for(kRetryServer);
    }
  }

  const std::vector<std::string> workers_;
  const std::vector<std::string> servers_;
  const CallCredentials credentials_;
  const std::shared_ptr<ServerLinks> links_;
  const std::shared_ptr<RemoteVariables> variables_;
  std::unique_ptr<StepScheduler> scheduler_;
  std::mutex mutex_;
  std::map<std::thread::id, StepsAhead> ahead_;
};

std::shared_ptr<StrategyImpl> make(const ParameterServerStrategyOptions& options) {
  const auto resolver = options.cluster ? options.cluster : resolve_default();
  check<InvalidArgument>(resolver.has_value(),
                         "{}: expected a cluster, got none: neither the option nor TF_CONFIG names "
                         "one.",
                         kStrategy);
  const ClusterSpec cluster = resolver->cluster_spec();
  check_cluster(cluster, kStrategy);
  const std::optional<Task> task = resolver->task();
  check<InvalidArgument>(!task || task->type == "chief",
                         "{}: it coordinates, as task of type chief, got {}. Workers and parameter "
                         "servers make a distribute::Server, and call join.",
                         kStrategy, task ? to_string(*task) : "");
  std::vector<std::string> addresses;
  const auto tasks_of = [&](const char* job) {
    check<InvalidArgument>(cluster.has_job(job) && cluster.num_tasks(job) > 0,
                           "{}: expected a cluster with tasks of type {}, got none.", kStrategy,
                           job);
    std::vector<std::string> tasks;
    for (const std::string& address : cluster.job_tasks(job)) {
      check<InvalidArgument>(!address.empty(), "{}: a task of type {} is missing in the cluster.",
                             kStrategy, job);
      tasks.push_back(address);
      addresses.push_back(address);
    }
    return tasks;
  };
  std::vector<std::string> workers = tasks_of("worker");
  std::vector<std::string> servers = tasks_of("ps");
  CallCredentials credentials{job_token(), TlsIdentity::of_environment()};
  require_trust(addresses, credentials.token, credentials.identity != nullptr,
                options.insecure || is_insecure());
  auto made = std::make_shared<ParameterServers>(
      std::move(workers), std::move(servers), std::move(credentials), options.variable_partitioner);
  made->begin(std::weak_ptr<StrategyImpl>(made));
  // The scheduler's threads hold `made` while they trace. They are stopped before it is destroyed:
  // when the program's last handle goes, on whatever thread.
  return {made.get(), [made](StrategyImpl*) mutable {
            if (!made->scheduler().is_own_thread()) {
              made->scheduler().stop();
            } else {
              std::thread([made] { made->scheduler().stop(); }).detach();
            }
            made.reset();
          }};
}

}  // namespace

ParameterServerStrategy::ParameterServerStrategy(const ParameterServerStrategyOptions& options)
    : Strategy(make(options)) {}

}  // namespace cornu::distribute
