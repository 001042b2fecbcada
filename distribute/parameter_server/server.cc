// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/server.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "distribute/cluster/calls.h"
#include "distribute/cluster/credentials.h"
#include "distribute/parameter_server/parameter_store.h"
#include "distribute/parameter_server/step_worker.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

struct OwnTask {
  ClusterSpec cluster;
  Task task;
};

OwnTask task_of(const ServerOptions& options) {
  const auto resolver = options.cluster ? options.cluster : resolve_default();
  check<InvalidArgument>(
      resolver.has_value(),
      "Server: expected a cluster, got none: neither the option nor TF_CONFIG names one.");
  OwnTask own{resolver->cluster_spec(), {}};
  const std::optional<Task> task = resolver->task();
  own.task.type = !options.job_name.empty() ? options.job_name : task ? task->type : "";
  own.task.index = options.task_index ? *options.task_index : task ? task->index : 0;
  check_cluster(own.cluster, "Server");
  check_task(own.cluster, own.task, "Server");
  check<InvalidArgument>(own.task.type == "worker" || own.task.type == "ps",
                         "Server: expected a task of type worker or ps, got '{}'. The chief makes "
                         "a ParameterServerStrategy instead.",
                         own.task.type);
  return own;
}

}  // namespace

struct Server::Impl {
  Impl(OwnTask own_task, CallCredentials own_credentials)
      : own(std::move(own_task)),
        credentials(std::move(own_credentials)),
        calls(
            Address::parse(own.cluster.task_address(own.task), "Server"),
            [this](const std::string& method, const CallMessage& request) {
              return handle(method, request);
            },
            credentials) {}

  // A task's state for one job. If both are null, the job's strategy is gone.
  struct Job {
    std::string name;
    std::unique_ptr<ParameterStore> store;
    std::unique_ptr<StepWorker> worker;
  };

  CallMessage handle(const std::string& method, const CallMessage& request) {
    const std::string& name = request.json.at("job").as_string();
    if (method == "begin") return begin(name, request.json);
    if (method == "end") return end(name, request.json.at("tasks").as_strings());
    const std::shared_ptr<Job> current = job_of(name);
    if (method == "leave") return leave(name);
    check<FailedPrecondition>(current->store || current->worker,
                              "The {} keeps nothing of this job any more: its strategy has gone.",
                              who());
    return current->store ? current->store->handle(method, request)
                          : current->worker->handle(method, request);
  }

  std::string who() const {
    return fmt::format("{} at {}", to_string(own.task), own.cluster.task_address(own.task));
  }

  std::shared_ptr<Job> job_of(const std::string& name) {
    const std::lock_guard lock(mutex);
    check<Unavailable>(job != nullptr, "The {} was restarted, and doesn't know this job.", who());
    check<FailedPrecondition>(job->name == name,
                              "The {} serves another coordinator by now. A job has one.", who());
    return job;
  }

  // Ends the current job; a restarted server that serves no job yet compares the tasks instead.
  CallMessage end(const std::string& name, const std::vector<std::string>& of_tasks) {
    const std::lock_guard lock(mutex);
    if (job ? job->name == name : of_tasks == tasks()) {
      ended = true;
      changed.notify_all();
    }
    return {};
  }

  std::vector<std::string> tasks() const {
    std::vector<std::string> addresses;
    for (const char* type : {"worker", "ps"}) {
      if (!own.cluster.has_job(type)) continue;
      const std::vector<std::string> of_type = own.cluster.job_tasks(type);
      addresses.insert(addresses.end(), of_type.begin(), of_type.end());
    }
    return addresses;
  }

  CallMessage leave(const std::string& name) {
    auto left = std::make_shared<Job>();
    left->name = name;
    const std::lock_guard lock(mutex);
    if (job->name == name) job.swap(left);
    return {};
  }

  CallMessage begin(const std::string& name, const Json& request) {
    const std::string& type = request.at("type").as_string();
    check<FailedPrecondition>(type == own.task.type,
                              "The coordinator takes the {} for a task of type {}. Give all tasks "
                              "the same cluster.",
                              who(), type);
    auto fresh = std::make_shared<Job>();
    fresh->name = name;
    if (type == "ps") {
      fresh->store = std::make_unique<ParameterStore>();
    } else {
      fresh->worker =
          std::make_unique<StepWorker>(request.at("servers").as_strings(), name, credentials);
    }
    const std::lock_guard lock(mutex);
    check<FailedPrecondition>(!before.contains(name),
                              "The {} serves another coordinator by now. A job has one.", who());
    // A parameter server continues with what it keeps. A worker starts from scratch: the
    // coordinator has forgotten what it sent.
    if (type == "ps" && job && job->name == name) return {};
    if (job && job->name != name) before.insert(job->name);
    job.swap(fresh);
    return {};
  }

  const OwnTask own;
  const CallCredentials credentials;
  std::mutex mutex;  // guards the next four members
  std::condition_variable changed;
  std::shared_ptr<Job> job;
  std::set<std::string> before;  // jobs that another one has replaced
  bool ended = false;
  CallServer calls;  // destroyed first
};

Server::Server(const ServerOptions& options) {
  OwnTask own = task_of(options);
  CallCredentials credentials{job_token(), TlsIdentity::of_environment()};
  std::vector<std::string> addresses;
  for (const std::string& job : own.cluster.jobs()) {
    for (const std::string& address : own.cluster.job_tasks(job)) {
      if (!address.empty()) addresses.push_back(address);
    }
  }
  require_trust(addresses, credentials.token, credentials.identity != nullptr,
                options.insecure || is_insecure());
  impl_ = std::make_unique<Impl>(std::move(own), std::move(credentials));
}

Server::~Server() = default;

void Server::join() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return impl_->ended; });
}

std::string Server::target() const {
  return "grpc://" + impl_->own.cluster.task_address(impl_->own.task);
}

}  // namespace cornu::distribute
