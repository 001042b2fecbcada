// SPDX-License-Identifier: Apache-2.0
// Weights files exchanged between Cornu and real Keras, in all forms of HDF5 that h5py writes.
// keras_weights.py is the Python side.
#include <doctest/doctest.h>

#include <filesystem>

#include "framework/io/atomic_file.h"
#include "framework/saving/hdf5_file.h"
#include "tests/saving/models.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::Scratch;

Sequential make_model(const std::string& last = "out") {
  Sequential model(
      Input({.shape = {4}}),
      {layers::Dense({.units = 5, .activation = "relu", .name = "hidden"}),
       layers::BatchNormalization({.name = "norm"}), layers::Dense({.units = 3, .name = last})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.optimizer().impl().build(model.trainable_variables());
  return model;
}

int python(const std::string& command, const Scratch& scratch) {
  return test::run_python(CORNU_KERAS_WEIGHTS_SCRIPT, command + " '" + scratch.path() + "'");
}

Tensor read_all(const Hdf5Reader& file, const std::string& path) {
  return file.read(path, file.describe(path).shape, DType::Float32);
}

std::vector<std::string> files_ending(const Scratch& scratch, const std::string& ending) {
  std::vector<std::string> result;
  for (const std::string& name : scratch.names()) {
    if (name.ends_with(ending)) result.push_back(name);
  }
  return result;
}

// Checks datasets whose elements are half their index, and groups with many attributes.
void check_datasets(const std::string& path) {
  const Hdf5Reader file = Hdf5Reader::open(path);
  int datasets = 0;
  for (const std::string& name : file.children("")) {
    CAPTURE(name);
    if (!file.is_dataset(name)) continue;
    const auto found = read_all(file, name).to_vector<float>();
    for (size_t i = 0; i < found.size(); ++i) {
      REQUIRE(found[i] == static_cast<float>(i) / 2);
    }
    ++datasets;
  }
  CHECK(datasets == 19);
  CHECK(file.strings_attribute("", "few") == std::vector<std::string>{"größe", "", "b"});
  CHECK(file.strings_attribute("", "fixed") == std::vector<std::string>{"abc", "", "d"});
  const auto texts = file.strings_attribute("group", "texts");
  REQUIRE(texts.has_value());
  CHECK(texts->size() == 2000);
  CHECK(texts->back() == "name 1999 of a layer");
  for (int i = 0; i < 40; ++i) CHECK(file.int_attribute("group", fmt::format("n{}", i)) == i);
  CHECK(file.children("group").size() == 300);
  CHECK(read_all(file, "group/299").item<float>() == 299);
}

TEST_CASE("weights of real Keras in every form, and the reverse") {
  const Scratch scratch;
  REQUIRE(python("write", scratch) == 0);
  const Hdf5Reader values = Hdf5Reader::open(scratch.path("values.h5"));
  const Tensor x = read_all(values, "x");
  const Tensor y = read_all(values, "y");
  const auto predicts_as_keras = [&](Model& model, const std::string& name) {
    CAPTURE(name);
    CHECK(test::distance(test::predictions(model, x), y) < 1e-5);
  };
  std::vector<std::string> files = {"keras.weights.h5", "shards.weights.json", "keras.keras",
                                    "whole.h5",         "whole_gzip.h5",       "legacy.h5"};
  for (const char* form : {"_earliest.weights.h5", "_latest.weights.h5"}) {
    const auto more = files_ending(scratch, form);
    CHECK(more.size() == 5);
    files.insert(files.end(), more.begin(), more.end());
  }
  for (const std::string& name : files) {
    Sequential model = make_model();
    model.load_weights(scratch.path(name));
    predicts_as_keras(model, name);
    if (name.find("weights.") != std::string::npos) {
      CHECK(model.optimizer().iterations() == 1);
    }
  }
  for (const char* name : {"keras.keras", "whole.h5", "whole_gzip.h5"}) {
    Model model = load_model(scratch.path(name));
    predicts_as_keras(model, name);
  }
  for (const char* libver : {"earliest", "latest"}) {
    check_datasets(scratch.path(fmt::format("datasets_{}.h5", libver)));
  }

  Sequential model = make_model();
  model.load_weights(scratch.path("keras.weights.h5"));
  model.save_weights(scratch.path("cornu.weights.h5"));
  model.save_weights(scratch.path("cornu_shards.weights.json"),
                     {.max_shard_size = 100.0 / (1 << 30)});
  Sequential other = make_model("another");
  other.load_weights(scratch.path("legacy.h5"), {.by_name = true});
  Hdf5Writer weights;
  const std::vector<Tensor> all = other.get_weights();
  for (size_t i = 0; i < 6; ++i) weights.write(std::to_string(i), all[i]);
  write_file_atomically(scratch.path("by_name.h5"), weights.take().pieces);
  CHECK(python("check", scratch) == 0);
}

}  // namespace
}  // namespace cornu
