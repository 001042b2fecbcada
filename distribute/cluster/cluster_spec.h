// SPDX-License-Identifier: Apache-2.0
// Which tasks a cluster has, and where they listen (tf.train.ClusterSpec).
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

// Addresses ("host:port") by the name of the job and the task's index, which begins at 0. Any names
// will do here; clusters that are trained on have to pass check_cluster.
//
//   distribute::ClusterSpec cluster({{"worker", {"ada:2222", "bob:2222"}}, {"ps", {"cleo:2222"}}});
class ClusterSpec {
 public:
  using Tasks = std::map<int64_t, std::string>;  // addresses by index; some may be missing
  using Addresses = std::vector<std::string>;    // of tasks 0, 1, …

  ClusterSpec() = default;  // no cluster
  // InvalidArgument where two jobs have one name.
  ClusterSpec(std::initializer_list<std::pair<std::string, Addresses>> jobs);
  // Where indices are missing. InvalidArgument for one below 0, or of a million and more.
  static ClusterSpec from_tasks(std::map<std::string, Tasks> jobs);
  // Reads {"worker": ["ada:2222", "bob:2222"], "ps": {"3": "cleo:2222"}}: lists, or objects where
  // some indices are missing. InvalidArgument, beginning with `where`, for anything else.
  static ClusterSpec from_json(const Json& json, std::string_view where = "ClusterSpec");

  explicit operator bool() const { return !jobs_.empty(); }
  std::vector<std::string> jobs() const;  // sorted
  bool has_job(const std::string& job) const { return jobs_.contains(job); }
  bool has_task(const Task& task) const;

  // Of one job. NotFound when there is none of that name.
  int64_t num_tasks(const std::string& job) const;
  std::vector<int64_t> task_indices(const std::string& job) const;  // sorted
  // OutOfRange when the job has no task of that index.
  const std::string& task_address(const std::string& job, int64_t index) const;
  const std::string& task_address(const Task& task) const {
    return task_address(task.type, task.index);
  }
  // Addresses by index, "" for indices without a task.
  std::vector<std::string> job_tasks(const std::string& job) const;

  // What from_json reads: a list for each job where no index is missing, else an object.
  Json as_json() const;

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  const Tasks& tasks_of(const std::string& job) const;

  std::map<std::string, Tasks> jobs_;
};

// The rest is TensorFlow's multi_worker_util. What these functions are given has to pass
// check_cluster and check_task, whose errors they throw.

// InvalidArgument, beginning with `where`, unless it is one of the four types.
void check_task_type(const std::string& type, std::string_view where = "Cluster");

// Of the cluster: InvalidArgument for a job that is none of chief, worker, ps and evaluator, more
// than one chief or evaluator, an address that isn't host:port, and one that two tasks have; an
// empty cluster is well. Messages begin with `where`.
void check_cluster(const ClusterSpec& cluster, std::string_view where = "Cluster");
// And of one of its tasks, which this process is: NotFound for a job that the cluster hasn't,
// OutOfRange for an index that the job hasn't. An evaluator needn't be in the cluster.
void check_task(const ClusterSpec& cluster, const Task& task, std::string_view where = "Cluster");

// Whether this is the task that writes checkpoints and logs: the chief, the first worker where
// there is no chief, any evaluator (which has its own), any task without a cluster.
bool is_chief(const ClusterSpec& cluster, const Task& task);

// The number of tasks that train together with one of this type: chief and workers; of evaluators,
// the evaluators. InvalidArgument for "ps", which trains with none.
int64_t worker_count(const ClusterSpec& cluster, const std::string& task_type);

// The task's rank among these: the chief is 0, workers follow by their indices. InvalidArgument for
// "ps", which has none.
int64_t id_in_cluster(const ClusterSpec& cluster, const Task& task);

// Chief and workers, by rank.
std::vector<Task> workers(const ClusterSpec& cluster);

}  // namespace cornu::distribute
