// SPDX-License-Identifier: Apache-2.0
// The options of `cornu launch`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace apps {

struct LaunchOptions {
  int workers = 0;  // 0: not given
  bool chief = false;
  int parameter_servers = 0;
  bool evaluator = false;
  std::vector<std::string> hosts;  // empty: a cluster on this machine
  int port = 8888;                 // of the first task on a host
  bool insecure = false;           // without a token
  int max_restarts = 0;            // per task
  int elastic = 0;     // minimum number of workers to continue with; 0: all of them are required
  double backoff = 1;  // seconds before the first restart; doubled for each further one
  double grace = 30;   // seconds between SIGTERM and SIGKILL
  std::vector<std::string> command;
};

// Adds the command to the tool; `options` receives its arguments.
CLI::App* add_launch_command(CLI::App& tool, LaunchOptions& options);

// Runs the job, or prints what to run; returns the exit code. Throws LaunchError.
int launch(const LaunchOptions& options);

}  // namespace apps
