// SPDX-License-Identifier: Apache-2.0
// Starting a task's process.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "apps/cornu/launch/cpu_shares.h"
#include "framework/io/file_descriptor.h"

namespace apps {

struct ChildOptions {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<int> cpus;
  int listens = -1;      // a socket that it inherits; negative: none
  sigset_t signal_mask;  // of the new process
};

struct Child {
  pid_t pid = -1;
  cornu::FileDescriptor output;  // non-blocking read ends
  cornu::FileDescriptor errors;
  int error = 0;  // errno if the program couldn't be run; there is no process then
};

// Starts a process that leads its own process group, has no input, and is killed when this process
// ends. This process must be single-threaded. Throws LaunchError when the system can't create a
// process.
Child start_child(const ChildOptions& options);

}  // namespace apps
