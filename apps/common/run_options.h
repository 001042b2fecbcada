// SPDX-License-Identifier: Apache-2.0
// Options of programs that train, and their validators; doesn't depend on the library.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace apps {

// Checks for a finite number above 0.
inline std::string check_positive(const std::string& text) {
  double number = 0;
  const bool is_number = CLI::detail::lexical_cast(text, number);
  if (is_number && std::isfinite(number) && number > 0) return {};
  return "expected a number above 0, like 0.001, got " + text;
}

// Checks for a fraction in [0, 1).
inline std::string check_part(const std::string& text) {
  double number = 0;
  const bool is_number = CLI::detail::lexical_cast(text, number);
  if (is_number && number >= 0 && number < 1) return {};
  return "expected a number from 0 to below 1, like 0.2, got " + text;
}

// Parses a whole number; returns an error message, or "" on success. CLI11 returns a bound of
// int64_t for numbers out of range.
inline std::string read_whole(const std::string& text, int64_t& number) {
  if (!CLI::detail::lexical_cast(text, number))
    return "expected a whole number, got '" + text + "'";
  const bool fits = number != INT64_MIN && number != INT64_MAX;
  return fits ? "" : "no number can be as large as '" + text + "'";
}

inline std::string check_whole(const std::string& text) {
  int64_t number = 0;
  return read_whole(text, number);
}

// Checks for a whole number of at least `least`, and at most `most`.
inline CLI::Validator at_least(int64_t least, int64_t most = INT64_MAX) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        int64_t number = 0;
        const std::string wrong = read_whole(text, number);
        if (wrong.empty() && number >= least && number <= most) return {};
        if (number == INT64_MAX && most == INT64_MAX) return wrong;
        const std::string range =
            most == INT64_MAX ? fmt::format("{} on", least) : fmt::format("{} to {}", least, most);
        return fmt::format("expected a whole number from {}, got '{}'", range, text);
      },
      "");
}

// Checks that a file with one of these endings can be written at `path`, before any work is done.
inline std::string check_output(const std::string& path, const std::vector<std::string>& endings) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  std::string known;
  bool fits = false;
  for (const std::string& ending : endings) {
    known += (known.empty() ? "'" : &ending == &endings.back() ? " or '" : ", '") + ending + "'";
    fits = fits || (path.ends_with(ending) && path != ending);
  }
  if (!fits) return fmt::format("expected a file that ends in {}, got '{}'", known, path);
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

// check_output as a validator of an option.
inline CLI::Validator output_file(const std::vector<std::string>& endings) {
  return CLI::Validator([endings](std::string& path) { return check_output(path, endings); }, "");
}

// Adds the options for training; `options` is a struct with the corresponding fields.
template <class Options>
void add_training_options(CLI::App& app, Options& options) {
  app.add_option("--epochs", options.epochs, "Passes over the training set")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--batch-size", options.batch_size, "Examples in a training step")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--checkpoint-dir", options.checkpoint_dir,
                 "Save the state of the run in this directory; restarted with the same command "
                 "line, it resumes");
  app.add_option("--checkpoint-every", options.checkpoint_every, "Training steps between states")
      ->check(at_least(1))
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
  app.add_option("--seed", options.seed, "Seed of weights and shuffling")
      ->check(CLI::Validator(check_whole, ""))
      ->capture_default_str();
  app.add_option("--verbose", options.verbose, "0 silent, 1 progress bar, 2 a line an epoch")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
}

}  // namespace apps
