// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/cluster_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::distribute {
namespace {

constexpr int64_t kMaxTasks = 1'000'000;

std::span<const std::string> task_types() {
  static const std::array<std::string, 4> types = {"chief", "worker", "ps", "evaluator"};
  return types;
}

bool is_index(int64_t index) { return index >= 0 && index < kMaxTasks; }

// Parses a task index used as a member name.
std::optional<int64_t> index_of(std::string_view text) {
  int64_t index = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, index);
  const bool is_number = error == std::errc() && rest == end;
  return is_number && is_index(index) ? std::optional(index) : std::nullopt;
}

std::string address_of(const Json& json, std::string_view where, const Task& task) {
  check<InvalidArgument>(json.is_string(),
                         "{}: expected the address of {} as a string \"host:port\", got {}.", where,
                         to_string(task), json.excerpt());
  return json.as_string();
}

ClusterSpec::Tasks tasks_of_json(const Json& json, std::string_view where, const std::string& job) {
  ClusterSpec::Tasks tasks;
  check<InvalidArgument>(json.is_array() || json.is_object(),
                         "{}: expected the addresses of job '{}' as a list [\"host:port\", …], or "
                         "as an object {{\"0\": \"host:port\", …}}, got {}.",
                         where, printable(job), json.excerpt());
  if (json.is_array()) {
    for (const Json& address : json.as_array()) {
      const auto index = static_cast<int64_t>(tasks.size());
      tasks.emplace(index, address_of(address, where, {job, index}));
    }
    return tasks;
  }
  for (const Json::Member& member : json.as_object()) {
    const std::optional<int64_t> index = index_of(member.first);
    check<InvalidArgument>(index.has_value(),
                           "{}: expected the index of a task of job '{}', a number from 0 to {}, "
                           "got \"{}\".",
                           where, printable(job), kMaxTasks - 1, printable(member.first));
    const bool added =
        tasks.emplace(*index, address_of(member.second, where, {job, *index})).second;
    check<InvalidArgument>(added, "{}: job '{}' has two tasks {}.", where, printable(job), *index);
  }
  return tasks;
}

// Whether it is "host:port" or "[ipv6]:port".
bool is_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find_first_of(":/[] \t\r\n") != std::string_view::npos) return false;
  const std::string_view digits = text.substr(colon + 1);
  const char* end = digits.data() + digits.size();
  int port = 0;
  const auto [rest, error] = std::from_chars(digits.data(), end, port);
  return error == std::errc() && rest == end && port > 0 && port < 65536;
}

std::string known_jobs(const ClusterSpec& cluster) {
  const std::vector<std::string> jobs = cluster.jobs();
  return jobs.empty() ? "it has none" : "it has " + join(jobs, ", ");
}

}  // namespace

std::string to_string(const Task& task) {
  return fmt::format("{} {}", printable(task.type), task.index);
}

ClusterSpec::ClusterSpec(std::initializer_list<std::pair<std::string, Addresses>> jobs) {
  for (const auto& [job, addresses] : jobs) {
    Tasks tasks;
    for (const std::string& address : addresses) {
      tasks.emplace(static_cast<int64_t>(tasks.size()), address);
    }
    const bool added = jobs_.emplace(job, std::move(tasks)).second;
    check<InvalidArgument>(added, "ClusterSpec: job '{}' is there twice.", printable(job));
  }
}

ClusterSpec ClusterSpec::from_tasks(std::map<std::string, Tasks> jobs) {
  for (const auto& [job, tasks] : jobs) {
    for (const auto& [index, address] : tasks) {
      check<InvalidArgument>(is_index(index),
                             "ClusterSpec: expected indices of tasks from 0 to {}, got {}.",
                             kMaxTasks - 1, to_string({job, index}));
    }
  }
  ClusterSpec cluster;
  cluster.jobs_ = std::move(jobs);
  return cluster;
}

ClusterSpec ClusterSpec::from_json(const Json& json, std::string_view where) {
  check<InvalidArgument>(json.is_object(),
                         "{}: expected the cluster as an object of lists of addresses, like "
                         "{{\"worker\": [\"host1:2222\", \"host2:2222\"]}}, got {}.",
                         where, json.excerpt());
  std::map<std::string, Tasks> jobs;
  for (const Json::Member& member : json.as_object()) {
    jobs.emplace(member.first, tasks_of_json(member.second, where, member.first));
  }
  return from_tasks(std::move(jobs));
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  for (const auto& [job, tasks] : jobs_) names.push_back(job);
  return names;
}

bool ClusterSpec::has_task(const Task& task) const {
  const auto found = jobs_.find(task.type);
  return found != jobs_.end() && found->second.contains(task.index);
}

const ClusterSpec::Tasks& ClusterSpec::tasks_of(const std::string& job) const {
  const auto found = jobs_.find(job);
  check<NotFound>(found != jobs_.end(), "ClusterSpec: the cluster has no job '{}'; {}.",
                  printable(job), known_jobs(*this));
  return found->second;
}

int64_t ClusterSpec::num_tasks(const std::string& job) const {
  return static_cast<int64_t>(tasks_of(job).size());
}

std::vector<int64_t> ClusterSpec::task_indices(const std::string& job) const {
  std::vector<int64_t> indices;
  for (const auto& [index, address] : tasks_of(job)) indices.push_back(index);
  return indices;
}

const std::string& ClusterSpec::task_address(const std::string& job, int64_t index) const {
  const Tasks& tasks = tasks_of(job);
  const auto found = tasks.find(index);
  check<OutOfRange>(found != tasks.end(),
                    "ClusterSpec: there is no {}: the job has {} tasks, the last of index {}.",
                    to_string({job, index}), tasks.size(),
                    tasks.empty() ? -1 : tasks.rbegin()->first);
  return found->second;
}

std::vector<std::string> ClusterSpec::job_tasks(const std::string& job) const {
  const Tasks& tasks = tasks_of(job);
  std::vector<std::string> addresses(
      tasks.empty() ? 0 : static_cast<size_t>(tasks.rbegin()->first) + 1);
  for (const auto& [index, address] : tasks) addresses[static_cast<size_t>(index)] = address;
  return addresses;
}

Json ClusterSpec::as_json() const {
  Json::Object cluster;
  for (const auto& [job, tasks] : jobs_) {
    const bool is_dense =
        tasks.empty() || tasks.rbegin()->first == static_cast<int64_t>(tasks.size()) - 1;
    Json::Array list;
    Json::Object by_index;
    for (const auto& [index, address] : tasks) {
      if (is_dense) {
        list.emplace_back(address);
      } else {
        by_index.emplace_back(std::to_string(index), address);
      }
    }
    cluster.emplace_back(job, is_dense ? Json(std::move(list)) : Json::of_members(by_index));
  }
  return Json::of_members(std::move(cluster));
}

void check_task_type(const std::string& type, std::string_view where) {
  const bool known = std::ranges::find(task_types(), type) != task_types().end();
  check<InvalidArgument>(known, "{}: unknown task type '{}'.{}{}", where, printable(type),
                         did_you_mean(type, task_types()),
                         type == "master" ? " What was called master is the chief." : "");
}

void check_cluster(const ClusterSpec& cluster, std::string_view where) {
  std::map<std::string, Task> tasks;  // by address
  for (const std::string& job : cluster.jobs()) {
    check_task_type(job, where);
    const int64_t count = cluster.num_tasks(job);
    const bool is_single = job == "chief" || job == "evaluator";
    check<InvalidArgument>(!is_single || count <= 1, "{}: expected at most one {}, got {}.", where,
                           job, count);
    for (const int64_t index : cluster.task_indices(job)) {
      const Task task = {job, index};
      const std::string& address = cluster.task_address(task);
      check<InvalidArgument>(is_address(address),
                             "{}: expected the address of {} as host:port, with a port from 1 to "
                             "65535, got '{}'.",
                             where, to_string(task), printable(address));
      const auto [other, added] = tasks.emplace(address, task);
      check<InvalidArgument>(added,
                             "{}: {} and {} both have the address {}. Each task needs one of its "
                             "own: give them different ports.",
                             where, to_string(other->second), to_string(task), address);
    }
  }
}

void check_task(const ClusterSpec& cluster, const Task& task, std::string_view where) {
  check_cluster(cluster, where);
  if (!cluster) return;
  check_task_type(task.type, where);
  if (!cluster.has_job(task.type)) {
    check<NotFound>(task.type == "evaluator",
                    "{}: this task is {}, but the cluster has no {}: {}. Name one of the cluster's "
                    "tasks, or add its address.",
                    where, to_string(task), task.type, known_jobs(cluster));
    return;
  }
  if (cluster.has_task(task)) return;
  const std::vector<int64_t> indices = cluster.task_indices(task.type);
  std::vector<std::string> known;
  for (const int64_t index : indices) known.push_back(to_string(Task{task.type, index}));
  check<OutOfRange>(known.empty() || indices.back() + 1 == static_cast<int64_t>(known.size()),
                    "{}: this task is {}, but of that type, the cluster has {}.", where,
                    to_string(task), join(known, " and "));
  raise<OutOfRange>(
      "{}: this task is {}, but the cluster has {} of type {}. The index of the first "
      "is 0.",
      where, to_string(task), known.size(), task.type);
}

bool is_chief(const ClusterSpec& cluster, const Task& task) {
  check_task(cluster, task);
  if (!cluster || task.type == "chief" || task.type == "evaluator") return true;
  const std::vector<Task> ranks = workers(cluster);
  return !ranks.empty() && task == ranks.front();
}

int64_t worker_count(const ClusterSpec& cluster, const std::string& task_type) {
  check_cluster(cluster);
  check<InvalidArgument>(
      task_type == "chief" || task_type == "worker" || task_type == "evaluator",
      "Cluster: expected chief, worker or evaluator, got '{}', which trains with "
      "no others.",
      printable(task_type));
  if (task_type == "evaluator") {
    return cluster.has_job(task_type) ? cluster.num_tasks(task_type) : 1;
  }
  return static_cast<int64_t>(workers(cluster).size());
}

int64_t id_in_cluster(const ClusterSpec& cluster, const Task& task) {
  check_task(cluster, task);
  if (task.type == "evaluator") return task.index;
  const std::vector<Task> ranks = workers(cluster);
  const auto found = std::ranges::find(ranks, task);
  check<InvalidArgument>(found != ranks.end(),
                         "Cluster: {} has no rank: only chief and workers do.", to_string(task));
  return found - ranks.begin();
}

std::vector<Task> workers(const ClusterSpec& cluster) {
  std::vector<Task> ranks;
  for (const char* job : {"chief", "worker"}) {
    if (!cluster.has_job(job)) continue;
    for (const int64_t index : cluster.task_indices(job)) ranks.push_back({job, index});
  }
  return ranks;
}

}  // namespace cornu::distribute
