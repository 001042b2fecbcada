// SPDX-License-Identifier: Apache-2.0
// Imports models written by onnx's helper and PyTorch (onnx_models.py), and compares the results
// with onnxruntime's.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "framework/train/body.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/saving/onnx_cases.h"
#include "tests/saving/onnx_read_models.h"
#include "tests/support/python.h"

namespace cornu::test {
namespace {

TEST_CASE("models of onnx and PyTorch predict what onnxruntime does") {
  const Scratch scratch;
  REQUIRE(run_python(CORNU_ONNX_MODELS_SCRIPT, scratch.path("")) == 0);
  check_read_models(scratch.path("cases.json"));
}

// ---- models as layers ----

Tensor normal(const Shape& shape) { return numbers(shape, 11); }

TEST_CASE("what has weights is a layer that trains") {
  const Scratch scratch;
  const std::string path = scratch.path("m.onnx");
  Model written =
      Sequential({Input({.shape = {6}, .name = "given"}),
                  layers::Dense({.units = 5, .activation = "relu", .name = "first"}),
                  layers::Dense({.units = 3, .activation = "softmax", .name = "scores"})},
                 {.name = "m"});
  written.export_(path);
  Model model = load_model(path, {.compile = true});
  CHECK_FALSE(model.compiled());
  CHECK(model.count_params() == written.count_params());
  CHECK(model.body()->graph()->input_names() == std::vector<std::string>{"given"});
  CHECK(model.body()->graph()->output_names() == std::vector<std::string>{"scores"});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  const Tensor x = normal({64, 6});
  const Tensor y = ops::argmax(x(ellipsis, Slice(0, 3)), -1);
  const History history = model.fit(x, y, {.epochs = 100, .verbose = 0});
  CHECK(history.at("loss").back() < 0.9 * history.at("loss").front());
  model.save(scratch.path("trained.keras"));
  Model loaded = load_model(scratch.path("trained.keras"));
  CHECK(difference(loaded.predict(x), model.predict(x)) == 0);
}

}  // namespace
}  // namespace cornu::test
