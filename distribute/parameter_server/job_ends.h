// SPDX-License-Identifier: Apache-2.0
// How a coordinator tells the tasks of its jobs that they are over.
#pragma once

#include <string>
#include <vector>

#include "distribute/cluster/calls.h"

namespace cornu::distribute {

// The tasks of a strategy's job.
struct JobTasks {
  std::vector<std::string> addresses;  // workers, then servers
  std::string job;
  CallCredentials credentials;
};

// Lets the tasks give back what they keep for the job; they wait for the next one then.
void leave_job(const JobTasks& tasks);

// When this program ends with code 0, Server::join returns in these tasks. One that fails leaves
// them waiting: it may be started again. Of several jobs of one task the last one counts.
void end_job_at_exit(const JobTasks& tasks);

}  // namespace cornu::distribute
