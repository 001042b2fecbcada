// SPDX-License-Identifier: Apache-2.0
// Whole models in HDF5 files written by Keras 3 and Keras 2: predictions and further training are
// the same as there.
#include <doctest/doctest.h>

#include <cstdlib>

#include "framework/train/model.h"
#include "tests/golden/golden.h"
#include "tests/support/layer_conformance.h"

namespace cornu {
namespace {

std::vector<Tensor> tensors_of(const Json& list) {
  std::vector<Tensor> tensors;
  for (const Json& item : list.as_array()) tensors.push_back(test::golden_tensor(item));
  return tensors;
}

TEST_CASE("models in HDF5 files of Keras 3 and Keras 2") {
  const char* folder = std::getenv("CORNU_TEST_DATA");
  REQUIRE(folder != nullptr);
  for (const Json& item : test::golden_cases("legacy_models").as_array()) {
    CAPTURE(item.at("name").as_string());
    const std::string path = std::string(folder) + "/" + item.at("file").as_string();
    Model model = load_model(path);
    const Tensors x(tensors_of(item.at("inputs")));
    const Tensors y(tensors_of(item.at("targets")));
    const std::vector<Tensor> expected = tensors_of(item.at("outputs"));
    const Tensors found = model.predict(x, {.verbose = 0});
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(test::distance(found[i], expected[i]) < 1e-5);
    }
    for (const Json& loss : item.at("losses").as_array()) {
      CHECK(model.train_on_batch(x, y).at("loss") ==
            doctest::Approx(loss.as_double()).epsilon(1e-4));
      model.reset_metrics();
    }
    const Model weights_alone = load_model(path, {.compile = false});
    CHECK(!weights_alone.compiled());
  }
}

TEST_CASE("HDF5 files without a model") {
  const std::string path = std::string(std::getenv("CORNU_TEST_DATA")) + "/files/dense.weights.h5";
  CHECK(test::error_of([&] { load_model(path); }) ==
        "InvalidArgument: load_model expected a path that ends in '.keras', '.h5', '.hdf5' or "
        "'.onnx', got '" +
            path + "'. Weights alone are loaded into a model with load_weights.");
  CHECK(test::error_of([&] { load_model("/nowhere/model.h5"); }).find("NotFound: ") == 0);
}

}  // namespace
}  // namespace cornu
