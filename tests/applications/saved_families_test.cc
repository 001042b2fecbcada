// SPDX-License-Identifier: Apache-2.0
// Every family of keras.applications, built and saved as a whole model by real Keras
// (saved_families.py): when loaded here, it predicts the same, gives the same after a training
// step, and can be saved for Keras again.
//
// Tests one small model of each family. With CORNU_ALL_APPLICATIONS=1 in the environment, tests all
// models, which takes half an hour and gigabytes of memory.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "framework/ops/ops.h"
#include "framework/saving/hdf5_file.h"
#include "framework/train/model.h"
#include "tests/golden/golden.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

using namespace cornu;

namespace {

constexpr int64_t kRows = 3, kClasses = 4;

struct SavedFamily {
  const char* family;  // prefix of the names of its models
  const char* small;   // the model that is always tested
  int64_t size;        // of images
};

// When two names have a common prefix, the longer one comes first. For images of size 64,
// ResNet50's last means are over 3 x 2 x 2 values, which would leave Keras itself 6e-5 from its
// result in float64; over 3 x 3 x 3 values, it is 2e-6.
const std::vector<SavedFamily> kFamilies = {{"ConvNeXt", "ConvNeXtTiny", 32},
                                            {"DenseNet", "DenseNet121", 64},
                                            {"EfficientNetV2", "EfficientNetV2B0", 64},
                                            {"EfficientNet", "EfficientNetB0", 64},
                                            {"InceptionResNetV2", "InceptionResNetV2", 75},
                                            {"InceptionV3", "InceptionV3", 107},
                                            {"MobileNetV2", "MobileNetV2", 64},
                                            {"MobileNetV3", "MobileNetV3Small", 64},
                                            {"MobileNet", "MobileNet", 64},
                                            {"NASNet", "NASNetMobile", 64},
                                            {"ResNet", "ResNet50", 96},
                                            {"ResNet", "ResNet50V2", 64},
                                            {"VGG", "VGG16", 32},
                                            {"Xception", "Xception", 71}};

// The models of keras.applications as Keras itself lists them.
std::vector<std::string> all_models() {
  for (const Json& module : test::golden_cases("surface").as_array()) {
    if (module.at("name").as_string() != "keras.applications") continue;
    std::vector<std::string> names;
    for (const Json& name : module.at("names").as_array()) names.push_back(name.as_string());
    return names;
  }
  return {};
}

const SavedFamily* family_of(const std::string& name) {
  for (const SavedFamily& family : kFamilies) {
    if (name.starts_with(family.family)) return &family;
  }
  return nullptr;
}

struct SavedModel {
  std::string name;
  int64_t size;
};

// Grouped into parts that are made together: Python starts slowly, and large models fill the disk.
std::vector<std::vector<SavedModel>> models_to_test() {
  std::vector<std::vector<SavedModel>> parts;
  if (const char* all = std::getenv("CORNU_ALL_APPLICATIONS"); all && *all == '1') {
    for (const std::string& name : all_models()) parts.push_back({{name, family_of(name)->size}});
  } else {
    parts.emplace_back();
    for (const SavedFamily& family : kFamilies) parts[0].push_back({family.small, family.size});
  }
  return parts;
}

void check_saved(const test::Scratch& scratch, const std::string& name, int64_t size) {
  const Hdf5Reader values = Hdf5Reader::open(scratch.path(name + ".values.h5"));
  const Tensor x = values.read("x", {kRows, size, size, 3}, DType::Float32);
  const Tensor y = values.read("y", {kRows}, DType::Int32);
  const auto read = [&](const char* what) {
    return values.read(what, {kRows, kClasses}, DType::Float32);
  };
  Model model = load_model(scratch.path(name + ".keras"));
  CHECK(test::distance(model.predict(x, {.verbose = 0}), read("before")) < 1e-4);
  model.save(scratch.path(name + ".cornu.keras"));
  const double wanted = values.read("loss", {}, DType::Float32).item<double>();
  const double loss = model.train_on_batch(x, y).at("loss");
  CHECK(std::abs(loss - wanted) < 1e-4 * std::max(1.0, wanted));
  CHECK(test::distance(model.predict(x, {.verbose = 0}), read("after")) < 1e-3);
}

}  // namespace

TEST_CASE("every model of keras.applications is of a family that is tested") {
  const std::vector<std::string> names = all_models();
  REQUIRE(names.size() >= 40);
  std::set<std::string> known;
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(family_of(name) != nullptr);
    known.insert(name);
  }
  for (const SavedFamily& family : kFamilies) {
    const std::string small = family.small;
    CAPTURE(small);
    CHECK(known.contains(small));
  }
}

TEST_CASE("saved models of each family of keras.applications predict, train and go back") {
  for (const std::vector<SavedModel>& models : models_to_test()) {
    const test::Scratch scratch;
    std::string sizes, names;
    for (const auto& [name, size] : models) {
      sizes += fmt::format(" {}={}", name, size);
      names += " " + name;
    }
    REQUIRE(test::run_python(CORNU_SAVED_FAMILIES_SCRIPT,
                             fmt::format("make '{}'{}", scratch.path(), sizes)) == 0);
    for (const SavedModel& model : models) {
      CAPTURE(model.name);
      check_saved(scratch, model.name, model.size);
    }
    CHECK(test::run_python(CORNU_SAVED_FAMILIES_SCRIPT,
                           fmt::format("check '{}'{}", scratch.path(), names)) == 0);
  }
}
