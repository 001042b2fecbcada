// SPDX-License-Identifier: Apache-2.0
// How a coordinator notifies the tasks of its jobs that a job has ended.
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

// Makes the tasks release what they keep for the job; they then wait for the next one.
void leave_job(const JobTasks& tasks);

// When this program exits with code 0, makes Server::join return in these tasks. A failed program
// leaves them waiting, as it may be started again. If a task has had several jobs, the last one
// counts.
void end_job_at_exit(const JobTasks& tasks);

}  // namespace cornu::distribute
