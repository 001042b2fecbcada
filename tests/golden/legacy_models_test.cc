// SPDX-License-Identifier: Apache-2.0
// Whole models in HDF5 files written by Keras 3 and Keras 2: predictions and further training are
// the same as there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "framework/ops/ops.h"
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

TEST_CASE("names of layers that Keras 3 doesn't allow") {
  const std::string path =
      std::string(std::getenv("CORNU_TEST_DATA")) + "/files/legacy_slashes_keras2.h5";
  const Model model = load_model(path);
  std::vector<std::string> names;
  for (const LayerHandle& layer : model.layers()) names.push_back(layer.name());
  std::sort(names.begin(), names.end());
  CHECK(names ==
        std::vector<std::string>{"block_a", "block_a_", "block_sum", "in_x", "out_p", "out_q"});

  Model other = load_model(path);
  std::vector<Tensor> zeros;
  for (const Tensor& weight : other.get_weights()) zeros.push_back(ops::zeros_like(weight));
  other.set_weights(zeros);
  other.load_weights(path, {.by_name = true});
  for (const char* name : {"block_a", "out_p", "out_q"}) {
    CHECK(test::distance(other.get_layer(name).get_weights()[0],
                         model.get_layer(name).get_weights()[0]) == 0);
  }
  // The file's 'block_a' is another layer.
  CHECK(test::distance(other.get_layer("block_a_").get_weights()[0], zeros[0]) == 0);
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
