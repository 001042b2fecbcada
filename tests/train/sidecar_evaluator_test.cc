// SPDX-License-Identifier: Apache-2.0
// Evaluating the files of a training while it runs.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/log.h"

using namespace cornu;
using test::message_of;
using testing::contains;
using testing::TempFolder;

namespace {

namespace fs = std::filesystem;

Sequential make_model() {
  Sequential model({Input({.shape = {1}}), layers::Dense({.units = 1, .use_bias = false})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse"});
  return model;
}

// Its loss on rows() is the square of its weight.
Sequential with_weight(float weight) {
  Sequential model = make_model();
  model.set_weights({Tensor::from<float>({weight}, {1, 1})});
  return model;
}

data::Dataset rows() {
  return data::Dataset::from_tensor_slices({ops::ones({4, 1}), ops::zeros({4, 1})}).batch(2);
}

// Simulates what training does between two looks, one action at a time; the evaluator stops after
// the last one.
std::function<bool()> each_look(std::vector<std::function<void()>> actions) {
  return [actions = std::move(actions), look = size_t{0}]() mutable {
    if (look == actions.size()) return true;
    actions[look++]();
    return false;
  };
}

// Records the loss of each evaluation.
Callbacks losses_into(std::vector<double>& losses) {
  callbacks::LambdaCallbackOptions options;
  options.on_test_end = [&](const Logs& logs) { losses.push_back(logs.at("loss")); };
  return {callbacks::LambdaCallback(options)};
}

void touch_later(const fs::path& path) {
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
}

}  // namespace

TEST_CASE("each new file is evaluated once, under whatever name") {
  const TempFolder folder;
  const std::string path = folder / "run";
  std::vector<double> losses;
  SidecarEvaluator evaluator(
      make_model(), rows(),
      {.checkpoint_dir = path,
       .callbacks = losses_into(losses),
       .verbose = 0,
       .until = each_look({[] {},  // no folder
                           [&] { fs::create_directory(path); },
                           [&] { with_weight(2).save_weights(path + "/w.weights.h5"); }, [] {},
                           [&] {
                             with_weight(3).save_weights(path + "/w.weights.h5");
                             touch_later(path + "/w.weights.h5");
                           },
                           [&] {
                             with_weight(4).save(path + "/model.keras");
                             touch_later(path + "/model.keras");
                             touch_later(path + "/model.keras");
                           },
                           [] {}}),
       .seconds_between_looks = 0});
  const Logs last = evaluator.start();
  CHECK(losses == std::vector<double>{4, 9, 16});
  CHECK(last.at("loss") == 16);
}

TEST_CASE("checkpoints of a manager, with the optimizer's iterations") {
  const TempFolder folder;
  Sequential model = with_weight(5);
  const Tensor x = ops::ones({2, 1});
  CheckpointManager manager(Checkpoint({{"model", model}, {"optimizer", model.optimizer()}}),
                            {.directory = folder.path(), .max_to_keep = 2});
  Sequential beside = make_model();
  std::vector<double> losses;
  std::vector<int64_t> iterations;
  callbacks::LambdaCallbackOptions options;
  options.on_test_end = [&](const Logs& logs) {
    losses.push_back(logs.at("loss"));
    iterations.push_back(beside.optimizer().iterations());
  };
  const auto train_and_save = [&] {
    model.train_on_batch(x, x);
    manager.save();
  };
  SidecarEvaluator(beside, rows(),
                   {.checkpoint_dir = folder.path(),
                    .max_evaluations = 2,
                    .callbacks = {callbacks::LambdaCallback(options)},
                    .verbose = 0,
                    .until = each_look({train_and_save, [] {}, train_and_save,
                                        [] { FAIL("two evaluations were asked for"); }}),
                    .seconds_between_looks = 0})
      .start();
  CHECK(losses == std::vector<double>{25, 25});
  CHECK(iterations == std::vector<int64_t>{1, 2});
}

TEST_CASE("a checkpoint with an optimizer's variables needs no step before") {
  const TempFolder folder;
  const auto compiled = [] {
    Sequential model({Input({.shape = {1}}), layers::Dense({.units = 1})});
    model.compile({.optimizer = "adam", .loss = "mse"});
    return model;
  };
  Sequential model = compiled();
  model.train_on_batch(ops::ones({2, 1}), ops::ones({2, 1}));
  CheckpointManager(Checkpoint({{"model", model}, {"optimizer", model.optimizer()}}),
                    {.directory = folder.path(), .max_to_keep = 1})
      .save();
  Sequential beside = compiled();
  SidecarEvaluator(beside, rows(),
                   {.checkpoint_dir = folder.path(), .max_evaluations = 1, .verbose = 0})
      .start();
  CHECK(beside.optimizer().iterations() == 1);
  CHECK(beside.get_weights()[0].item<float>() == model.get_weights()[0].item<float>());
}

TEST_CASE("a file that isn't complete is said so once, and tried again") {
  const TempFolder folder;
  const std::string path = folder / "w.weights.h5";
  const std::string whole = folder / "whole.weights.h5.aside";
  with_weight(6).save_weights(folder / "aside.weights.h5");
  fs::rename(folder / "aside.weights.h5", whole);
  std::vector<double> losses;
  test::Log captured;
  SidecarEvaluator(make_model(), rows(),
                   {.checkpoint_dir = folder.path(),
                    .callbacks = losses_into(losses),
                    .verbose = 0,
                    .until = each_look({[&] {
                                          fs::copy_file(whole, path);
                                          fs::resize_file(path, fs::file_size(whole) / 2);
                                        },
                                        [] {}, [] {},
                                        [&] {
                                          fs::rename(whole, path);
                                          touch_later(path);
                                        }}),
                    .seconds_between_looks = 0})
      .start();
  const std::string log = captured.text();
  CHECK(losses == std::vector<double>{36});
  const size_t first = log.find("w.weights.h5 can't be read: ");
  CHECK_MESSAGE(first != std::string::npos, log);
  CHECK(log.find("can't be read", first + 30) == std::string::npos);
}

TEST_CASE("what an evaluator can't do") {
  const TempFolder folder;
  CHECK(message_of([] { SidecarEvaluator(make_model(), rows(), {.checkpoint_dir = ""}); }) ==
        "SidecarEvaluator: expected a checkpoint_dir, got none.");
  CHECK(message_of([] {
          SidecarEvaluator(make_model(), rows(), {.checkpoint_dir = "x", .max_evaluations = 0});
        }) == "SidecarEvaluator: expected max_evaluations of at least 1, got 0.");
  CHECK(message_of([] {
          SidecarEvaluator(make_model(), rows(),
                           {.checkpoint_dir = "x", .seconds_between_looks = -1});
        }) == "SidecarEvaluator: expected seconds_between_looks from 0 to a million, got -1.");
  Sequential other({Input({.shape = {1}}), layers::Dense({.units = 7})});
  other.save_weights(folder / "other.weights.h5");
  const std::string text = message_of([&] {
    SidecarEvaluator(make_model(), rows(), {.checkpoint_dir = folder.path(), .verbose = 0}).start();
  });
  CHECK_MESSAGE(contains(text, "other.weights.h5"), text);
}
