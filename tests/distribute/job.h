// SPDX-License-Identifier: Apache-2.0
// Jobs with parameter servers whose tasks all run in one process.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "distribute/cluster/simple_resolver.h"
#include "distribute/parameter_server/server.h"
#include "tests/distribute/clusters.h"

namespace cornu::test {

// Servers for all tasks but the chief, each as if it were in its own process.
class Job {
 public:
  Job(int workers, int servers) {
    const std::vector<std::string> addresses = test::free_addresses(workers + servers);
    const auto middle = addresses.begin() + workers;
    spec_ = distribute::ClusterSpec({{"chief", {"127.0.0.1:1"}},
                                     {"worker", {addresses.begin(), middle}},
                                     {"ps", {middle, addresses.end()}}});
    for (int i = 0; i < workers; ++i) start({"worker", i});
    for (int i = 0; i < servers; ++i) start({"ps", i});
  }

  distribute::SimpleClusterResolver resolver(const std::string& type = "chief",
                                             int64_t index = 0) const {
    return distribute::SimpleClusterResolver(spec_, {.task_type = type, .task_id = index});
  }
  void start(const distribute::Task& task) {
    tasks_[to_string(task)] = std::make_unique<distribute::Server>(
        distribute::ServerOptions{.cluster = resolver(task.type, task.index)});
  }
  void stop(const distribute::Task& task) { tasks_.erase(to_string(task)); }
  distribute::Server& task(const distribute::Task& task) { return *tasks_.at(to_string(task)); }

 private:
  distribute::ClusterSpec spec_;
  std::map<std::string, std::unique_ptr<distribute::Server>> tasks_;
};

}  // namespace cornu::test
