// SPDX-License-Identifier: Apache-2.0
// Models with real Keras's weights compute the same as in Keras. keras_families.py is the Python
// side.
#include <doctest/doctest.h>

#include <cstdlib>

#include "applications/applications.h"
#include "framework/ops/ops.h"
#include "framework/saving/hdf5_file.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

using namespace cornu;
using namespace cornu::applications;

namespace {

struct FamilyCase {
  const char* name;
  Model (*make)(const ApplicationOptions&);
  int64_t size;        // of images
  int64_t features;    // in the output
  bool cached = true;  // whether the model is also made with ImageNet's weights, found in the cache
};

}  // namespace

// Also from files in the format, and at the path, of the ImageNet weights.
TEST_CASE("weights of Keras's families of models give what they give there") {
  const test::Scratch scratch;
  const std::vector<FamilyCase> cases = {{"ResNet50", ResNet50, 32, 2048},
                                         {"ResNet50V2", ResNet50V2, 32, 2048},
                                         {"VGG16", VGG16, 32, 512},
                                         {"DenseNet121", DenseNet121, 32, 1024},
                                         {"Xception", Xception, 71, 2048},
                                         {"InceptionV3", InceptionV3, 75, 2048},
                                         {"EfficientNetB0", EfficientNetB0, 64, 1280, false}};
  std::string arguments = fmt::format("'{}'", scratch.path());
  for (const FamilyCase& item : cases) arguments += fmt::format(" {}={}", item.name, item.size);
  REQUIRE(test::run_python(CORNU_KERAS_FAMILIES_SCRIPT, arguments) == 0);
  for (const FamilyCase& item : cases) {
    const std::string name = item.name;
    CAPTURE(name);
    const Hdf5Reader values = Hdf5Reader::open(scratch.path(name + ".values.h5"));
    const Tensor x = values.read("x", {2, item.size, item.size, 3}, DType::Float32);
    const Tensor expected = values.read("y", {2, item.features}, DType::Float32);
    const double scale = ops::max(ops::abs(expected)).item<double>();
    REQUIRE(scale > 0.01);
    Model model = item.make({.include_top = false,
                             .weights = scratch.path(name + ".weights.h5"),
                             .input_shape = {item.size, item.size, 3},
                             .pooling = "avg"});
    CHECK(test::distance(model.predict(x, {.verbose = 0}), expected) < 1e-4 * scale);
    if (!item.cached) continue;
    setenv("KERAS_HOME", scratch.path().c_str(), 1);
    Model cached = item.make(
        {.include_top = false, .input_shape = {item.size, item.size, 3}, .pooling = "avg"});
    unsetenv("KERAS_HOME");
    CHECK(test::distance(cached.predict(x, {.verbose = 0}), expected) < 1e-4 * scale);
  }
}
