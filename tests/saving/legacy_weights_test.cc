// SPDX-License-Identifier: Apache-2.0
// Weights files of Keras 2. tests/applications has files written by Keras itself.
#include <doctest/doctest.h>

#include "framework/ops/ops.h"
#include "framework/saving/weights_file.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"
#include "tests/saving/foreign_hdf5.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

namespace cornu {
namespace {

using test::contains;
using test::error_of;
using test::Foreign;
using test::Scratch;

Sequential make_model(int64_t units = 2) {
  return Sequential({Input({.shape = {3}}), layers::Dense({.units = units, .name = "head"}),
                     layers::ReLU(), layers::BatchNormalization({.name = "norm"})});
}

struct Names {
  std::vector<std::string> layers = {"input", "dense_7", "re_lu", "batch_norm"};
  bool in_parts = false;  // attributes split in parts of one name each
  std::vector<std::string> optimizer = {};
  float iterations = 0;  // of the optimizer
};

// Writes a file with the layers of make_model() under other names, in the group `root`.
void write_file(const std::string& path, const std::string& root, const Names& names = {},
                const std::vector<hsize_t>& kernel = {3, 2}) {
  Foreign file(false);
  file.add_group(root + "/unrelated");
  const std::string at = root.empty() ? "/" : root;
  if (names.in_parts) {
    for (size_t i = 0; i < names.layers.size(); ++i) {
      file.add_strings(at, fmt::format("layer_names{}", i), {names.layers[i]});
    }
  } else {
    file.add_strings(at, "layer_names", names.layers);
  }
  file.add_floats(root + "/dense_7/dense_7/kernel:0", kernel, {1, 2, 3, 4, 5, 6, 7, 8});
  file.add_floats(root + "/dense_7/dense_7/bias:0", {2}, {7, 8});
  for (const char* name : {"beta", "gamma", "moving_mean", "moving_variance"}) {
    file.add_floats(root + "/batch_norm/batch_norm/" + name + ":0", {2},
                    {static_cast<float>(name[0]), 1});
  }
  for (const char* empty : {"input", "re_lu"}) {
    file.add_group(root + "/" + empty);
    file.add_strings(root + "/" + empty, "weight_names", {});
  }
  file.add_strings(root + "/dense_7", "weight_names", {"dense_7/kernel:0", "dense_7/bias:0"});
  file.add_strings(root + "/batch_norm", "weight_names",
                   {"batch_norm/gamma:0", "batch_norm/beta:0", "batch_norm/moving_mean:0",
                    "batch_norm/moving_variance:0"});
  for (const std::string& name : names.optimizer) {
    const bool counts = name.find("iter") != std::string::npos;
    file.add_float("optimizer_weights/" + name, counts ? names.iterations : 2);
  }
  if (!names.optimizer.empty()) {
    file.add_strings("optimizer_weights", "weight_names", names.optimizer);
  }
  write_file_atomically(path, file.take_bytes());
}

TEST_CASE("weights of Keras 2: layers go by their order") {
  const Scratch scratch;
  write_file(scratch.path("weights.h5"), "");
  write_file(scratch.path("whole.hdf5"), "model_weights");
  write_file(scratch.path("parts.h5"), "", {.in_parts = true});
  for (const char* name : {"weights.h5", "whole.hdf5", "parts.h5"}) {
    CAPTURE(name);
    Sequential model = make_model();
    model.load_weights(scratch.path(name));
    const std::vector<Tensor> weights = model.get_weights();
    REQUIRE(weights.size() == 6);
    CHECK(weights[0].to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(weights[1].to_vector<float>() == std::vector<float>{7, 8});
    CHECK(weights[2].to_vector<float>() == std::vector<float>{'g', 1});
    CHECK(weights[3].to_vector<float>() == std::vector<float>{'b', 1});
    CHECK(weights[4].to_vector<float>() == std::vector<float>{'m', 1});
    CHECK(weights[5].to_vector<float>() == std::vector<float>{'m', 1});
  }
}

TEST_CASE("a whole model's file that was saved before any training has a state that fits") {
  const Scratch scratch;
  const std::string path = scratch.path("whole.h5");
  const auto restored = [&](const Optimizer& optimizer, const std::vector<std::string>& names,
                            float iterations = 0) {
    write_file(path, "model_weights", {.optimizer = names, .iterations = iterations});
    Sequential model = make_model();
    model.build({1, 3});
    optimizer.build(model.trainable_variables());
    return load_legacy_weights_file(path, model, {"adam", optimizer.variables()});
  };
  const optimizers::Adam adam({.learning_rate = 0.5});
  CHECK(restored(adam, {"adam/iteration", "adam/learning_rate"}) == OptimizerRestore::Done);
  CHECK(adam.learning_rate().item<float>() == 2);
  CHECK(restored(optimizers::Adam(), {"iteration:0"}) == OptimizerRestore::Done);  // of Keras 2
  CHECK(restored(optimizers::SGD(), {"sgd/iteration", "sgd/learning_rate"}) ==
        OptimizerRestore::Done);
  CHECK(restored(optimizers::SGD(), {"SGD/iter:0"}) == OptimizerRestore::Done);
  CHECK(restored(optimizers::Adam(), {"a/iteration", "a/learning_rate", "a/momentum"}) ==
        OptimizerRestore::Misfit);
  CHECK(restored(optimizers::Adam(), {"a/iteration", "a/momentum"}) == OptimizerRestore::Misfit);
  // An optimizer without slots that has already made steps.
  CHECK(restored(optimizers::Adam(), {"sgd/iteration", "sgd/learning_rate"}, 3) ==
        OptimizerRestore::Misfit);
  CHECK(restored(optimizers::SGD(), {"sgd/iteration", "sgd/learning_rate"}, 3) ==
        OptimizerRestore::Done);
}

TEST_CASE("weights of Keras 2: a file of another model changes nothing and says where it differs") {
  const Scratch scratch;
  const std::string path = scratch.path("w.h5");
  const auto refused = [&](Sequential model) {
    const std::vector<Tensor> before = model.get_weights();
    const std::string text = error_of([&] { model.load_weights(path); });
    const std::vector<Tensor> after = model.get_weights();
    for (size_t i = 0; i < before.size(); ++i) CHECK(test::distance(before[i], after[i]) == 0);
    return text.substr(0, text.find(path)) + "FILE" + text.substr(text.find(path) + path.size());
  };
  write_file(path, "");
  CHECK(refused(make_model(4)) ==
        "InvalidArgument: FILE: Dense 'head': weight 'kernel' expected shape (3, 4), got (3, 2) at "
        "'dense_7/dense_7/kernel:0'.");
  CHECK(refused(Sequential({Input({.shape = {3}}), layers::Dense({.units = 2})})) ==
        "InvalidArgument: FILE has more weights than the model's 2. Load it into a model with "
        "the layers of the one that was saved.");
  write_file(path, "", {.layers = {"input", "dense_7"}});
  CHECK(refused(make_model()).starts_with("InvalidArgument: FILE: expected 2 layers with weights"));
  write_file(path, "", {.layers = {"batch_norm", "dense_7"}});
  CHECK(refused(make_model()) ==
        "InvalidArgument: FILE: Dense 'head' expected 2 weights, got 4 of the layer 'batch_norm'.");
  write_file(path, "", {.layers = {"nowhere"}});
  CHECK(refused(make_model()).starts_with("NotFound: 'FILE': 'nowhere': there is no 'nowhere'."));
  Foreign empty(false);
  write_file_atomically(path, empty.take_bytes());
  CHECK(refused(make_model()) ==
        "InvalidArgument: FILE: it isn't a weight file of Keras 2, which has an attribute "
        "'layer_names'. Those of Keras 3 are called '….weights.h5'.");
}

// A model with layers named as in the file, and others in between.
Sequential named_model(int64_t units) {
  return Sequential({Input({.shape = {3}}), layers::Dense({.units = units, .name = "dense_7"}),
                     layers::Dense({.units = 2, .name = "new"}),
                     layers::BatchNormalization({.name = "batch_norm"})});
}

TEST_CASE("weights of Keras 2 by name: layers that only one of them has are left alone") {
  const Scratch scratch;
  const std::string path = scratch.path("w.h5");
  write_file(path, "model_weights");
  Sequential model = named_model(2);
  const std::vector<Tensor> before = model.get_weights();
  model.load_weights(path, {.by_name = true});
  const std::vector<Tensor> after = model.get_weights();
  CHECK(after[0].to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(after[1].to_vector<float>() == std::vector<float>{7, 8});
  CHECK(test::distance(before[2], after[2]) == 0);
  CHECK(test::distance(before[3], after[3]) == 0);
  CHECK(after[4].to_vector<float>() == std::vector<float>{'g', 1});
  CHECK(contains(error_of([&] { model.load_weights(path); }), "expected 3 layers with weights"));
}

TEST_CASE("weights of Keras 2: what doesn't fit is an error, or skipped with a warning") {
  const Scratch scratch;
  const std::string path = scratch.path("w.h5");
  write_file(path, "");
  for (const bool by_name : {false, true}) {
    CAPTURE(by_name);
    // The kernel doesn't fit, but the bias does.
    Sequential model = by_name ? named_model(2) : make_model(2);
    write_file(path, "", {}, {4, 2});
    const std::vector<Tensor> before = model.get_weights();
    CHECK(contains(error_of([&] { model.load_weights(path, {.by_name = by_name}); }),
                   "weight 'kernel' expected shape (3, 2), got (4, 2)"));
    CHECK(test::distance(before[1], model.get_weights()[1]) == 0);
    const test::Log log;
    model.load_weights(path, {.skip_mismatch = true, .by_name = by_name});
    CHECK(contains(log.text(),
                   "weight 'kernel' expected shape (3, 2), got (4, 2) at "
                   "'dense_7/dense_7/kernel:0': skipped."));
    CHECK(test::distance(before[0], model.get_weights()[0]) == 0);
    CHECK(model.get_weights()[1].to_vector<float>() == std::vector<float>{7, 8});
  }
  // With a different number of weights: skipped by name only, as in Keras.
  write_file(path, "");
  Sequential fewer({Input({.shape = {3}}),
                    layers::Dense({.units = 2, .use_bias = false, .name = "dense_7"}),
                    layers::BatchNormalization({.name = "batch_norm"})});
  CHECK(contains(error_of([&] { fewer.load_weights(path, {.by_name = true}); }),
                 "Dense 'dense_7' expected 1 weights, got 2"));
  CHECK_FALSE(error_of([&] { fewer.load_weights(path, {.skip_mismatch = true}); }).empty());
  const test::Log log;
  fewer.load_weights(path, {.skip_mismatch = true, .by_name = true});
  CHECK(contains(log.text(), "Dense 'dense_7' expected 1 weights, got 2: skipped."));
  CHECK(fewer.get_weights()[1].to_vector<float>() == std::vector<float>{'g', 1});
  write_file(path, "", {.layers = {"dense_7", "dense_7"}});
  CHECK(contains(error_of([&] { named_model(2).load_weights(path, {.by_name = true}); }),
                 "has the layer 'dense_7' twice"));
}

}  // namespace
}  // namespace cornu
