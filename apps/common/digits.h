// SPDX-License-Identifier: Apache-2.0
// Shared by the MNIST programs: their options, and the source of their digits.
#pragma once

#include <cornu/cornu.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "apps/common/program.h"

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

inline void add_options(CLI::App& app, DigitsOptions& options) {
  app.add_option("--learning-rate", options.learning_rate,
                 "Adam's first learning rate; it falls to 0 over the run, along a cosine")
      ->check(CLI::Validator(check_positive, "POSITIVE"))
      ->capture_default_str();
  app.add_option("--data-dir", options.data_dir, "Where MNIST's four files are");
  app.add_option("--log", options.log, "Write the metrics of each epoch to this CSV file");
  app.add_option("--resume-from", options.resume_from,
                 "Start with the weights of this .keras file");
  app.add_flag("--synthetic", options.synthetic, "Train on drawn digits instead of MNIST");
  add_run_options(app, options);
}

// Loads MNIST, or drawn digits when it can't be found.
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

inline void compile(cornu::Model& model, const DigitsOptions& options, int64_t examples) {
  const int64_t steps = (examples + options.batch_size - 1) / options.batch_size;
  const cornu::optimizers::schedules::CosineDecay rate(
      {.initial_learning_rate = options.learning_rate,
       .decay_steps = std::max<int64_t>(1, options.epochs * steps)});
  model.compile({.optimizer = cornu::optimizers::Adam({.learning_rate = rate}),
                 .loss = cornu::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
}

// Trains the model returned by `make_model()`, or the one named by --resume-from, and evaluates it.
inline int train_digits(int argc, char** argv, const std::string& about, DigitsOptions options,
                        const std::function<cornu::Model()>& make_model) {
  CLI::App app(about);
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return run_program([&] {
    cornu::set_random_seed(static_cast<uint64_t>(options.seed));
    auto [train, test] = load_digits(options);
    const cornu::Strategy strategy = make_strategy(options.strategy, options.replicas);
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
    if (!options.save.empty()) model.save(options.save);
    const cornu::Logs results = model.evaluate(test.x, test.y, {.batch_size = 256, .verbose = 0});
    fmt::print("test loss {:.4f}, test accuracy {:.4f}\n", results.at("loss"),
               results.at("accuracy"));
    if (!options.save.empty()) fmt::print("saved {}\n", options.save);
  });
}

}  // namespace apps
