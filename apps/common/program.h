// SPDX-License-Identifier: Apache-2.0
// Shared by the programs that train: options, strategies, exit codes.
#pragma once

#include <cornu/cornu.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <vector>

#include "apps/common/complain.h"
#include "apps/common/run_options.h"

namespace apps {

// Adds the options of a run; `options` is a struct with the corresponding fields.
template <class Options>
void add_run_options(CLI::App& app, Options& options) {
  add_training_options(app, options);
  app.add_option("--save", options.save, "Write the trained model to this .keras file")
      ->check(output_file({".keras"}));
}

inline cornu::Strategy make_strategy(const std::string& name, int replicas) {
  std::vector<std::string> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back(fmt::format("CPU:{}", i));
  if (name == "one_device") return cornu::distribute::OneDeviceStrategy("CPU:0");
  if (name == "mirrored") {
    return cornu::distribute::MirroredStrategy({.devices = devices});
  }
  if (name == "multi_worker") {
    return cornu::distribute::MultiWorkerMirroredStrategy({.devices = devices});
  }
  if (name == "central_storage") {
    return cornu::distribute::CentralStorageStrategy({.compute_devices = devices});
  }
  return cornu::get_strategy();
}

// Runs a program's body; prints exceptions and converts them to an exit code.
template <class F>
int run_program(const F& body) {
  try {
    body();
    return 0;
  } catch (const cornu::Interrupted& interrupted) {
    complain(interrupted.what());
    return 128 + interrupted.signal();
  } catch (const std::exception& error) {
    complain(fmt::format("error: {}", error.what()));
    return 1;
  }
}

}  // namespace apps
