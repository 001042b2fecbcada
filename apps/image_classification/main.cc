// SPDX-License-Identifier: Apache-2.0
// Transfer learning on a folder of pictures, with one subfolder per class.
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "apps/common/program.h"
#include "apps/image_classification/drawn_pictures.h"
#include "apps/image_classification/network.h"
#include "apps/image_classification/report.h"

namespace {

namespace fs = std::filesystem;
using namespace cornu;

struct Options {
  int64_t epochs = 8;
  int64_t fine_tune_epochs = 2;
  int64_t batch_size = 32;
  double learning_rate = 1e-3;
  std::optional<int64_t> image_size = {};
  double alpha = 1.0;
  std::string data = {};
  int64_t drawn = 120;
  std::string weights = {};
  std::string save_base = {};
  std::string augment = "layers";
  std::string wrong = {};
  std::string save = {};
  std::string checkpoint_dir = {};
  int64_t checkpoint_every = 100;
  std::string strategy = "default";
  int replicas = 2;
  int64_t seed = 0;
  int verbose = 1;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--data", options.data,
                 "A directory with a subdirectory of images for each class; without it, synthetic "
                 "images are used")
      ->check(CLI::ExistingDirectory);
  app.add_option("--drawn", options.drawn, "Number of synthetic images per class, without --data")
      ->check(CLI::Range(2, 100'000))
      ->capture_default_str();
  app.add_option("--weights", options.weights,
                 "Keras's file of MobileNetV2 without its top (.weights.h5, .h5 or .keras): the "
                 "classifier learns on it, then its last layers too, more slowly. Without it, all "
                 "is trained from scratch")
      ->check(CLI::ExistingFile);
  app.add_option("--save-base", options.save_base,
                 "Write the trained MobileNetV2's weights to this .weights.h5 file, for --weights");
  app.add_option("--fine-tune-epochs", options.fine_tune_epochs,
                 "With --weights: passes in which its last layers learn, after --epochs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate,
                 "Adam's first learning rate; it falls to 0, along a cosine. A tenth of it in "
                 "fine-tuning")
      ->check(CLI::Validator(apps::check_positive, "POSITIVE"))
      ->capture_default_str();
  app.add_option(
         "--image-size", options.image_size,
         "Size to which images are resized, in pixels per side [160; 64 for synthetic images]")
      ->check(CLI::Range(32, 4096));
  app.add_option("--alpha", options.alpha, "The share of MobileNetV2's filters that there are")
      ->check(CLI::Validator(apps::check_positive, "POSITIVE"))
      ->capture_default_str();
  app.add_option("--augment", options.augment,
                 "Augment images in the model (layers), in the input pipeline (map), or not")
      ->check(CLI::IsMember({"layers", "map", "none"}))
      ->capture_default_str();
  app.add_option("--wrong", options.wrong,
                 "Write those that were classified wrongly to this PNG file, side by side");
  apps::add_run_options(app, options);
}

int64_t image_size(const Options& options) {
  return options.image_size.value_or(options.data.empty() ? 64 : 160);
}

data::ImageDatasetSplit load(const Options& options) {
  fs::path folder = options.data;
  if (options.data.empty()) {
    folder = apps::drawn_pictures(options.drawn);
    fmt::print("no --data: training on synthetic images drawn by this program, in {}\n",
               folder.string());
  }
  return data::image_dataset_split_from_directory(
      folder, {.batch_size = options.batch_size,
               .image_size = {image_size(options), image_size(options)},
               .seed = options.seed,
               .validation_split = 0.2,
               .verbose = options.verbose > 0});
}

data::Dataset prepared(const data::Dataset& train, const Options& options) {
  if (options.augment != "map") return train;
  return train
      .map(
          [layers = apps::augmentation()](const Tensor& pictures, const Tensor& labels) {
            Tensor x = pictures;
            for (const LayerHandle& layer : layers) x = layer(x);
            return std::pair(x, labels);
          },
          {.num_parallel_calls = data::kAutotune})
      .prefetch(data::kAutotune);
}

// One of the two training phases, with its own state: `name` in --checkpoint-dir.
void train(Model& model, const data::Dataset& dataset, const data::Dataset& validation,
           const Options& options, const std::string& name, int64_t epochs, double learning_rate) {
  const int64_t steps = dataset.cardinality().value_or(1);
  const optimizers::schedules::CosineDecay rate(
      {.initial_learning_rate = learning_rate,
       .decay_steps = std::max<int64_t>(1, epochs * steps)});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = rate}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  std::vector<CallbackHandle> callbacks;
  if (!options.checkpoint_dir.empty()) {
    callbacks.push_back(callbacks::BackupAndRestore(
        {.backup_dir = (fs::path(options.checkpoint_dir) / name).string(),
         .save_freq = options.checkpoint_every,
         .delete_checkpoint = false}));
  }
  model.fit(dataset, {.epochs = epochs,
                      .verbose = options.verbose,
                      .callbacks = callbacks,
                      .validation_data = validation});
}

void report(Model& model, const data::ImageDataset& validation, const Options& options) {
  const Logs results = model.evaluate(validation, {.verbose = 0});
  fmt::print("validation loss {:.4f}, validation accuracy {:.4f}\n", results.at("loss"),
             results.at("accuracy"));
  const apps::Predictions predictions = apps::predict(model, validation);
  const std::vector<std::string>& classes = validation.class_names();
  fmt::print("{}", apps::confusion_table(predictions, classes));
  if (options.wrong.empty()) return;
  const auto wrong = apps::write_wrong_pictures(options.wrong, predictions, validation);
  for (const size_t i : wrong) {
    fmt::print("{}: of {}, taken for {}\n", validation.file_paths()[i],
               classes[static_cast<size_t>(predictions.truth[i])],
               classes[static_cast<size_t>(predictions.guesses[i])]);
  }
  fmt::print("{}\n", wrong.empty() ? "nothing was classified wrongly"
                                   : fmt::format("wrote these to {}", options.wrong));
}

void run(const Options& options) {
  set_random_seed(static_cast<uint64_t>(options.seed));
  const data::ImageDatasetSplit split = load(options);
  const auto classes = static_cast<int64_t>(split.training.class_names().size());
  const Strategy strategy = apps::make_strategy(options.strategy, options.replicas);
  const auto scope = strategy.scope();
  apps::Network network = apps::make_network({.image_size = image_size(options),
                                              .classes = classes,
                                              .alpha = options.alpha,
                                              .weights = options.weights,
                                              .augment = options.augment == "layers"});
  const data::Dataset dataset = prepared(split.training, options);
  Model& model = network.model;
  const bool transfer = !options.weights.empty();
  if (transfer) network.freeze_base();
  train(model, dataset, split.validation, options, "training", options.epochs,
        options.learning_rate);
  if (transfer && options.fine_tune_epochs > 0) {
    network.unfreeze_top();
    train(model, dataset, split.validation, options, "fine_tuning", options.fine_tune_epochs,
          options.learning_rate / 10);
  }
  if (!options.save.empty()) model.save(options.save);
  if (!options.save_base.empty()) network.base.save_weights(options.save_base);
  report(model, split.validation, options);
  for (const std::string& saved : {options.save, options.save_base}) {
    if (!saved.empty()) fmt::print("saved {}\n", saved);
  }
  // All is done: the next run starts from scratch.
  for (const char* name : {"training", "fine_tuning"}) {
    if (!options.checkpoint_dir.empty()) fs::remove_all(fs::path(options.checkpoint_dir) / name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains MobileNetV2 to classify a directory of images.");
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return apps::run_program([&] { run(options); });
}
