// SPDX-License-Identifier: Apache-2.0
// Several processes train one network: on this machine with -n, on many machines if TF_CONFIG,
// Slurm or MPI define the cluster. When a worker is killed, the others wait for it.
#include <cornu/cornu.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

#include "apps/common/digits.h"

namespace {

namespace fs = std::filesystem;
using namespace cornu;

struct Options {
  int workers = 0;
  int max_restarts = 3;
  int elastic = 0;
  int64_t epochs = 3;
  int64_t batch_size = 64;
  int64_t steps_per_epoch = 70;
  double learning_rate = 0.001;
  std::string dataset = {};
  std::string data_dir = {};
  bool synthetic = false;
  std::string checkpoint_dir = {};
  std::optional<int64_t> checkpoint_every = {};
  bool evaluator = false;
  std::string save = {};
  int64_t seed = 1;
  int verbose = 2;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("-n,--workers", options.workers,
                 "Start this many workers on this machine (by `cornu launch`), and wait for them")
      ->check(CLI::Range(1, 1024));
  app.add_option("--max-restarts", options.max_restarts,
                 "With -n: how often a worker that dies is started again")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option(
         "--elastic", options.elastic,
         "With -n: continue with fewer workers when one has failed for good, down to this many")
      ->check(CLI::Range(1, 1024));
  app.add_option("--epochs", options.epochs, "Epochs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch-size", options.batch_size, "Examples of one worker's training step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps-per-epoch", options.steps_per_epoch, "Training steps in an epoch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--learning-rate", options.learning_rate,
                 "SGD's learning rate for one worker; that of all is as many times larger")
      ->check(CLI::Validator(apps::check_positive, "POSITIVE"))
      ->capture_default_str();
  app.add_option("--dataset", options.dataset,
                 "A directory with a subdirectory of images for each class, instead of MNIST")
      ->check(CLI::ExistingDirectory);
  app.add_option("--data-dir", options.data_dir, "Where MNIST's four files are");
  app.add_flag("--synthetic", options.synthetic, "Train on drawn digits instead of MNIST");
  app.add_option("--checkpoint-dir", options.checkpoint_dir,
                 "Save the state of the run in this directory; restarted workers resume from it");
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "Training steps between states; without it, an epoch")
      ->check(CLI::PositiveNumber);
  app.add_flag("--evaluator", options.evaluator,
               "Write the weights into --checkpoint-dir after each epoch; with -n, one process "
               "more evaluates them there while training continues, and logs the figures for "
               "TensorBoard in its subdirectory 'logs'")
      ->needs("--checkpoint-dir");
  app.add_option("--save", options.save, "Write the trained model to this .keras file")
      ->check(apps::output_file({".keras"}));
  app.add_option("--seed", options.seed, "Seed of weights and shuffling")->capture_default_str();
  app.add_option("--verbose", options.verbose, "0 silent, 1 progress bar, 2 a line an epoch")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
}

// Becomes `cornu launch`, which is next to this program, with the same command line except for -n.
[[noreturn]] void launch(const Options& options, int argc, char** argv) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const std::string launcher = (self.parent_path() / "cornu").string();
  std::vector<std::string> line = {launcher,
                                   "launch",
                                   "-n",
                                   std::to_string(options.workers),
                                   "--max-restarts",
                                   std::to_string(options.max_restarts)};
  if (options.elastic > 0) {
    line.insert(line.end(), {"--elastic", std::to_string(options.elastic)});
  }
  if (options.evaluator) line.emplace_back("--evaluator");
  line.insert(line.end(), {"--", self.string()});
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-n" || word == "--workers" || word == "--max-restarts" || word == "--elastic") {
      ++i;
    } else if (word.rfind("-n", 0) != 0 && word.rfind("--workers=", 0) != 0 &&
               word.rfind("--max-restarts=", 0) != 0 && word.rfind("--elastic=", 0) != 0) {
      line.push_back(word);
    }
  }
  std::vector<char*> words;
  for (std::string& word : line) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(launcher.c_str(), words.data());
  raise<NotFound>("multi_worker: {} can't be run. It is built with this program: ./run build",
                  launcher);
}

struct Data {
  data::Dataset batches;
  data::Dataset test;
  int64_t classes = 10;
  Shape shape = {28, 28, 1};

  Shape batched_shape() const { return Shape({kUnknown, shape[0], shape[1], shape[2]}); }
};

Data load(const Options& options, int64_t batch) {
  data::Options policy;
  policy.distribute.auto_shard_policy = data::AutoShardPolicy::Data;
  if (!options.dataset.empty()) {
    const auto pictures = data::image_dataset_from_directory(
        options.dataset, {.batch_size = batch, .image_size = {96, 96}, .seed = options.seed});
    return {pictures.repeat().with_options(policy),
            pictures,
            static_cast<int64_t>(pictures.class_names().size()),
            {96, 96, 3}};
  }
  const auto [train, test] =
      apps::load_digits({.data_dir = options.data_dir, .synthetic = options.synthetic});
  return {data::Dataset::from_tensor_slices({train.x, train.y})
              .shuffle(60'000, {.seed = options.seed})
              .repeat()
              .batch(batch)
              .with_options(policy),
          data::Dataset::from_tensor_slices({test.x, test.y}).batch(batch)};
}

Sequential make_network(const Data& data) {
  return Sequential({
      layers::Reshape(data.shape),
      layers::Rescaling({.scale = 1.0 / 255}),
      layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
      layers::MaxPooling2D(),
      layers::Flatten(),
      layers::Dense({.units = 64, .activation = "relu"}),
      layers::Dense({.units = data.classes}),
  });
}

void compile(Sequential& model, double learning_rate) {
  model.compile({.optimizer = optimizers::SGD({.learning_rate = learning_rate}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
}

bool is_evaluator() {
  const auto resolver = distribute::resolve_default();
  const auto task = resolver ? resolver->task() : std::nullopt;
  return task && task->type == "evaluator";
}

// The task that evaluates what the others have trained, until the launcher ends it.
void evaluate(const Options& options) {
  const Data data = load(options, options.batch_size);
  Sequential model = make_network(data);
  compile(model, options.learning_rate);
  model.build(data.batched_shape());
  const fs::path folder = options.checkpoint_dir;
  const callbacks::TensorBoard logs({.log_dir = (folder / "logs").string()});
  SidecarEvaluator(model, data.test,
                   {.checkpoint_dir = folder.string(), .callbacks = {logs}, .verbose = 2})
      .start();
}

void train(const Options& options) {
  set_random_seed(static_cast<uint64_t>(options.seed));
  const distribute::MultiWorkerMirroredStrategy strategy;
  const auto replicas = strategy.num_replicas_in_sync();
  const Data data = load(options, options.batch_size * replicas);
  const auto scope = strategy.scope();
  Sequential model = make_network(data);
  compile(model, options.learning_rate * static_cast<double>(replicas));
  std::vector<CallbackHandle> callbacks;
  if (!options.checkpoint_dir.empty()) {
    callbacks::BackupAndRestoreOptions backup{.backup_dir = options.checkpoint_dir};
    if (options.checkpoint_every) backup.save_freq = *options.checkpoint_every;
    callbacks.push_back(callbacks::BackupAndRestore(backup));
  }
  if (options.evaluator) {  // only the chief's are written
    callbacks::LambdaCallbackOptions after;
    after.on_epoch_end = [&](int64_t, const Logs&) {
      model.save_weights((fs::path(options.checkpoint_dir) / "model.weights.h5").string());
    };
    callbacks.push_back(callbacks::LambdaCallback(after));
  }
  model.fit(data.batches, {.epochs = options.epochs,
                           .verbose = strategy.is_chief() ? options.verbose : 0,
                           .callbacks = callbacks,
                           .steps_per_epoch = options.steps_per_epoch});
  if (options.save.empty()) return;
  model.save(options.save);  // only the chief's is written
  if (strategy.is_chief()) fmt::print("saved {}\n", options.save);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Trains a convolutional network with several processes, on MNIST or a directory of images.");
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return apps::run_program([&] {
    if (options.workers > 0) launch(options, argc, argv);
    is_evaluator() ? evaluate(options) : train(options);
  });
}
