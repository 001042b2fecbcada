// SPDX-License-Identifier: Apache-2.0
// The tasks of a job, and their configuration.
#pragma once

#include <string>
#include <vector>

#include "apps/cornu/launch/options.h"

namespace apps {

struct PlannedTask {
  std::string type;  // "worker"
  int index = 0;
  std::string address = "";  // "" for evaluators, which nobody connects to

  std::string name() const { return type + " " + std::to_string(index); }
};

// The job's tasks without addresses: chief, workers, parameter servers, evaluator.
std::vector<PlannedTask> plan_tasks(const LaunchOptions& options);

// The value of TF_CONFIG for one of the tasks.
std::string tf_config(const std::vector<PlannedTask>& tasks, const PlannedTask& task);

// The commands to run on each host, as shell lines. Throws LaunchError.
std::string commands_for_hosts(const LaunchOptions& options);

}  // namespace apps
