// SPDX-License-Identifier: Apache-2.0
// Which worker writes what when several workers save: run by on_workers.py.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/distribute/models.h"
#include "tests/docs/write_filepath.h"
#include "tests/support/files.h"

using namespace cornu;
using test::workers;
using testing::is_chief;
using testing::names_in;
using testing::write_filepath;

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// The chief's folder, which all workers use; it is removed when the last worker has arrived here.
class CommonFolder {
 public:
  CommonFolder() : path_(test::of_first_worker(own_.path().string())) {}
  ~CommonFolder() {
    try {
      meet();
    } catch (const Error&) {  // another worker has failed
    }
  }
  CommonFolder(const CommonFolder&) = delete;
  CommonFolder& operator=(const CommonFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }
  // The files in the folder once all workers have arrived here.
  Names names() const {
    meet();
    Names names = names_in(path_);
    meet();
    return names;
  }
  void meet() const { test::of_first_worker(""); }

 private:
  testing::TempFolder own_;
  fs::path path_;
};

Sequential small_model() {
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 1})});
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}), .loss = "mse"});
  return model;
}

void train(Sequential& model) {
  const Tensor x = random::normal({8, 4}, {.seed = 1});
  model.fit(x, ops::sum(x, 1, true),
            {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false});
}

std::vector<std::vector<float>> values_of(const Model& model) {
  std::vector<std::vector<float>> values;
  for (const Tensor& weight : model.get_weights()) values.push_back(weight.to_vector<float>());
  return values;
}

}  // namespace

TEST_CASE("model.save by every worker: the chief's path has the model, and nothing is beside it" *
          doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const CommonFolder folder;
  Sequential model = small_model();
  train(model);
  model.save(folder / "plain.keras");
  model.save_weights(folder / "plain.weights.h5");
  CHECK(folder.names() == Names{"plain.keras", "plain.weights.h5"});

  // As in TensorFlow's tutorial.
  const fs::path path = write_filepath(folder / "model.keras");
  CHECK((path == folder / "model.keras") == strategy.is_chief());
  model.save(path);
  if (!is_chief()) fs::remove_all(path.parent_path());
  CHECK(folder.names() == Names{"model.keras", "plain.keras", "plain.weights.h5"});
  for (const char* name : {"model.keras", "plain.keras"}) {
    Model loaded = load_model(folder / name);
    CHECK(values_of(loaded) == values_of(model));
  }
}

TEST_CASE(
    "a checkpoint manager in the tutorial's pattern: the chief's is kept, and all restore it" *
    doctest::skip(test::is_alone())) {
  const Strategy strategy = workers();
  const auto scope = strategy.scope();
  const CommonFolder folder;
  Sequential model = small_model();
  const auto checkpoint_of = [](Sequential& of) {
    of.optimizer().build(of.trainable_variables());
    return Checkpoint({{"model", of}, {"optimizer", of.optimizer()}});
  };
  {
    const fs::path directory = write_filepath(folder / "ckpt");
    CheckpointManager manager(checkpoint_of(model), {.directory = directory, .max_to_keep = 1});
    train(model);
    manager.save();
    train(model);
    CHECK(manager.save() == (directory / "ckpt-2").string());
    // Each worker has what it wrote.
    folder.meet();
    CHECK(names_in(directory) == Names{"checkpoint", "ckpt-2"});
    folder.meet();
    if (!is_chief()) fs::remove_all(directory.parent_path());
  }
  CHECK(folder.names() == Names{"ckpt"});
  CHECK(names_in(folder / "ckpt") == Names{"checkpoint", "ckpt-2"});

  const auto expected = values_of(model);
  Sequential other = small_model();
  CHECK(values_of(other) != expected);
  const auto latest = latest_checkpoint(folder / "ckpt");
  CHECK(latest == folder / "ckpt/ckpt-2");
  checkpoint_of(other).restore(latest).assert_consumed();
  CHECK(values_of(other) == expected);
  CHECK(other.optimizer().iterations() == 8);
  train(model);
  train(other);
  CHECK(values_of(other) == values_of(model));
}
