// SPDX-License-Identifier: Apache-2.0
// What the MNIST programs share: their options, and where their digits come from.
#pragma once

#include <cornu/cornu.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace apps {

struct DigitsOptions {
  int64_t epochs = 3;
  int64_t batch_size = 64;
  double learning_rate = 1e-3;
  std::string data_dir = {};
  std::string save = {};
  std::string log = {};
  std::string resume_from = {};
  std::string checkpoint_dir = {};
  int64_t checkpoint_every = 100;
  std::string strategy = "default";
  int replicas = 2;
  int64_t seed = 0;
  bool synthetic = false;
  int verbose = 1;
};

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

inline void add_options(CLI::App& app, DigitsOptions& options) {
  app.add_option("--epochs", options.epochs, "Passes over the training set")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch-size", options.batch_size, "Examples in a training step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate,
                 "Adam's first learning rate; it falls to 0 over the run, along a cosine")
      ->check(CLI::Validator(check_positive, "POSITIVE"))
      ->capture_default_str();
  app.add_option("--data-dir", options.data_dir, "Where MNIST's four files are");
  app.add_option("--save", options.save, "Write the trained model to this .keras file")
      ->check(CLI::Validator(check_model_file, ""));
  app.add_option("--log", options.log, "Write the metrics of each epoch to this CSV file");
  app.add_option("--resume-from", options.resume_from,
                 "Start with the weights of this .keras file");
  app.add_option("--checkpoint-dir", options.checkpoint_dir,
                 "Keep the state of the run in this folder: killed and started again with the same "
                 "line, it goes on");
  app.add_option("--checkpoint-every", options.checkpoint_every, "Training steps between states")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--strategy", options.strategy, "How steps are run")
      ->check(CLI::IsMember({"default", "one_device", "mirrored", "central_storage"}))
      ->capture_default_str();
  app.add_option("--replicas", options.replicas,
                 "Logical devices CPU:0, CPU:1, … of the mirrored and central_storage strategies")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of weights and shuffling")->capture_default_str();
  app.add_flag("--synthetic", options.synthetic, "Train on drawn digits instead of MNIST");
  app.add_option("--verbose", options.verbose, "0 silent, 1 progress bar, 2 a line an epoch")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
}

// MNIST, or drawn digits when it is nowhere to be found.
inline auto load_digits(const DigitsOptions& options) {
  if (!options.synthetic) {
    try {
      return cornu::datasets::mnist::load_data({.path = options.data_dir});
    } catch (const cornu::NotFound&) {
      if (!options.data_dir.empty()) throw;
      fmt::print(
          "MNIST was not found and could not be downloaded: training on synthetic digits "
          "drawn by this program instead.\n");
    }
  }
  return cornu::datasets::synthetic_digits({.seed = options.seed});
}

inline cornu::Strategy make_strategy(const DigitsOptions& options) {
  std::vector<std::string> devices;
  for (int i = 0; i < options.replicas; ++i) devices.push_back(fmt::format("CPU:{}", i));
  if (options.strategy == "one_device") return cornu::distribute::OneDeviceStrategy("CPU:0");
  if (options.strategy == "mirrored") {
    return cornu::distribute::MirroredStrategy({.devices = devices});
  }
  if (options.strategy == "central_storage") {
    return cornu::distribute::CentralStorageStrategy({.compute_devices = devices});
  }
  return cornu::get_strategy();
}

inline void compile(cornu::Model& model, const DigitsOptions& options, int64_t examples) {
  const int64_t steps = (examples + options.batch_size - 1) / options.batch_size;
  const cornu::optimizers::schedules::CosineDecay rate(
      {.initial_learning_rate = options.learning_rate,
       .decay_steps = std::max<int64_t>(1, options.epochs * steps)});
  model.compile({.optimizer = cornu::optimizers::Adam({.learning_rate = rate}),
                 .loss = cornu::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
}

// Trains `make_model()`'s model, or the one that --resume-from names, and evaluates it.
inline int train_digits(int argc, char** argv, const std::string& about, DigitsOptions options,
                        const std::function<cornu::Model()>& make_model) {
  CLI::App app(about);
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    cornu::set_random_seed(static_cast<uint64_t>(options.seed));
    auto [train, test] = load_digits(options);
    const cornu::Strategy strategy = make_strategy(options);
    const auto scope = strategy.scope();
    cornu::Model model = options.resume_from.empty()
                             ? make_model()
                             : cornu::load_model(options.resume_from, {.compile = false});
    compile(model, options, train.x.shape().front());
    std::vector<cornu::CallbackHandle> callbacks;
    if (!options.checkpoint_dir.empty()) {
      callbacks.push_back(cornu::callbacks::BackupAndRestore(
          {.backup_dir = options.checkpoint_dir, .save_freq = options.checkpoint_every}));
    }
    if (!options.log.empty()) {
      callbacks.push_back(cornu::callbacks::CSVLogger({.filename = options.log}));
    }
    model.fit(train.x, train.y,
              {.batch_size = options.batch_size,
               .epochs = options.epochs,
               .verbose = options.verbose,
               .callbacks = callbacks});
    const cornu::Logs results = model.evaluate(test.x, test.y, {.batch_size = 256, .verbose = 0});
    fmt::print("test loss {:.4f}, test accuracy {:.4f}\n", results.at("loss"),
               results.at("accuracy"));
    if (!options.save.empty()) {
      model.save(options.save);
      fmt::print("saved {}\n", options.save);
    }
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
