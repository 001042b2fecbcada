// SPDX-License-Identifier: Apache-2.0
// What the programs that train share: options, strategies, how they end.
#pragma once

#include <cornu/cornu.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace apps {

// A finite number above 0.
inline std::string check_positive(const std::string& text) {
  double number = 0;
  const bool is_number = CLI::detail::lexical_cast(text, number);
  if (is_number && std::isfinite(number) && number > 0) return {};
  return "expected a number above 0, like 0.001, got " + text;
}

// Where a model can be saved: known before it is trained.
inline std::string check_model_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  if (!path.ends_with(".keras")) {
    return fmt::format("expected a file that ends in '.keras', got '{}'", path);
  }
  if (fs::is_directory(path, ignored)) return fmt::format("'{}' is a directory", path);
  if (!folder.empty() && !fs::is_directory(folder, ignored)) {
    return fmt::format("there is no directory '{}' for '{}'. Create it first", folder.string(),
                       path);
  }
  if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    return fmt::format("'{}' can't be written: no permission for its directory", path);
  }
  return {};
}

// The options of a run, in a struct with their fields.
template <class Options>
void add_run_options(CLI::App& app, Options& options) {
  app.add_option("--epochs", options.epochs, "Passes over the training set")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch-size", options.batch_size, "Examples in a training step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--save", options.save, "Write the trained model to this .keras file")
      ->check(CLI::Validator(check_model_file, ""));
  app.add_option("--checkpoint-dir", options.checkpoint_dir,
                 "Keep the state of the run in this folder: killed and started again with the same "
                 "line, it goes on");
  app.add_option("--checkpoint-every", options.checkpoint_every, "Training steps between states")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--strategy", options.strategy, "How steps are run")
      ->check(
          CLI::IsMember({"default", "one_device", "mirrored", "central_storage", "multi_worker"}))
      ->capture_default_str();
  app.add_option("--replicas", options.replicas,
                 "Logical devices CPU:0, CPU:1, … of the mirrored and central_storage strategies, "
                 "and of each worker of multi_worker (see cornu launch)")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of weights and shuffling")->capture_default_str();
  app.add_option("--verbose", options.verbose, "0 silent, 1 progress bar, 2 a line an epoch")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
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

// Runs a program's body; what it throws is said, and becomes the exit code.
template <class F>
int run_program(const F& body) {
  try {
    body();
    return 0;
  } catch (const cornu::Interrupted& interrupted) {
    fmt::print(stderr, "{}\n", interrupted.what());
    return 128 + interrupted.signal();
  } catch (const cornu::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

}  // namespace apps
