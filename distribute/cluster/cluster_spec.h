// SPDX-License-Identifier: Apache-2.0
// The tasks of a cluster and the addresses they listen on (tf.train.ClusterSpec).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/json.h"

namespace cornu::distribute {

// One process of a cluster.
struct Task {
  std::string type;  // "chief", "worker", "ps" or "evaluator"
  int64_t index = 0;

  friend bool operator==(const Task&, const Task&) = default;
};

// "worker 0"
std::string to_string(const Task& task);

// Task addresses ("host:port") by job name and task index, which starts at 0. Any job names are
// allowed here; clusters used for training must pass check_cluster.
//
//   distribute::ClusterSpec cluster({{"worker", {"ada:2222", "bob:2222"}}, {"ps", {"cleo:2222"}}});
class ClusterSpec {
 public:
  using Tasks = std::map<int64_t, std::string>;  // addresses by index; indices may be missing
  using Addresses = std::vector<std::string>;    // of tasks 0, 1, …

  ClusterSpec() = default;  // no cluster
  // Throws InvalidArgument when two jobs have the same name.
  ClusterSpec(std::initializer_list<std::pair<std::string, Addresses>> jobs);
  // For jobs with missing indices. Throws InvalidArgument for an index below 0, or of a million or
  // more.
  static ClusterSpec from_tasks(std::map<std::string, Tasks> jobs);
  // Reads {"worker": ["ada:2222", "bob:2222"], "ps": {"3": "cleo:2222"}}: a list per job, or an
  // object when some indices are missing. Throws InvalidArgument, with a message starting with
  // `where`, for anything else.
  static ClusterSpec from_json(const Json& json, std::string_view where = "ClusterSpec");

  explicit operator bool() const { return !jobs_.empty(); }
  std::vector<std::string> jobs() const;  // sorted
  bool has_job(const std::string& job) const { return jobs_.contains(job); }
  bool has_task(const Task& task) const;

  // The number of tasks of a job. Throws NotFound if there is no such job.
  int64_t num_tasks(const std::string& job) const;
  std::vector<int64_t> task_indices(const std::string& job) const;  // sorted
  // Throws OutOfRange if the job has no task with that index.
  const std::string& task_address(const std::string& job, int64_t index) const;
  const std::string& task_address(const Task& task) const {
    return task_address(task.type, task.index);
  }
  // Addresses by index; "" for indices without a task.
  std::vector<std::string> job_tasks(const std::string& job) const;

  // Inverse of from_json: a list for each job without missing indices, otherwise an object.
  Json as_json() const;

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  const Tasks& tasks_of(const std::string& job) const;

  std::map<std::string, Tasks> jobs_;
};

// The following functions mirror TensorFlow's multi_worker_util. Their arguments must pass
// check_cluster and check_task, whose errors they throw.

// Throws InvalidArgument, with a message starting with `where`, unless `type` is one of the four
// task types.
void check_task_type(const std::string& type, std::string_view where = "Cluster");

// Checks a cluster. Throws InvalidArgument for a job other than chief, worker, ps and evaluator,
// for more than one chief or evaluator, for an address that isn't host:port, and for an address
// shared by two tasks; an empty cluster is valid. Messages start with `where`.
void check_cluster(const ClusterSpec& cluster, std::string_view where = "Cluster");
// Also checks one of its tasks, which this process is. Throws NotFound for a job that isn't in the
// cluster and OutOfRange for an index that isn't in the job. An evaluator needn't be in the
// cluster.
void check_task(const ClusterSpec& cluster, const Task& task, std::string_view where = "Cluster");

// Whether this task writes checkpoints and logs: the chief, the first worker if there is no chief,
// any evaluator (which writes its own), and any task without a cluster.
bool is_chief(const ClusterSpec& cluster, const Task& task);

// The number of tasks that train together with a task of this type: chief and workers; for
// evaluators, the number of evaluators. Throws InvalidArgument for "ps", which doesn't train.
int64_t worker_count(const ClusterSpec& cluster, const std::string& task_type);

// The task's rank among those tasks: the chief is 0, followed by the workers by index. Throws
// InvalidArgument for "ps", which has no rank.
int64_t id_in_cluster(const ClusterSpec& cluster, const Task& task);

// The chief and the workers, by rank.
std::vector<Task> workers(const ClusterSpec& cluster);

}  // namespace cornu::distribute
