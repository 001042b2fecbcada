// SPDX-License-Identifier: Apache-2.0
// Models of ops on axes of unknown size, saved here, compute the same in real Keras (open_axes.py),
// and again here after Keras has saved them.
#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/open_axes.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

Json values_of(const Tensor& x) {
  Json::Array values;
  for (const float value : x.to_vector<float>()) values.push_back(static_cast<double>(value));
  return Json::object({{"shape", x.shape()}, {"values", std::move(values)}});
}

}  // namespace

TEST_CASE("models of ops on unknown axes are Keras's when saved") {
  const test::Scratch scratch;
  Json::Array all;
  // Keras's sparsemax uses a different threshold; its op ConvTranspose mixes up its arguments, and
  // adaptive pooling can't read its own sizes from a file.
  const std::set<std::string> differing = {"adaptive", "conv_transpose", "sparsemax"};
  for (const test::OpenCase& item : test::open_cases()) {
    if (differing.contains(item.name)) continue;
    CAPTURE(item.name);
    Model model = test::open_model(item);
    model.save(scratch.path(item.name + ".keras"));
    Json::Array trials;
    for (const int64_t size : {4, 10}) {
      const std::vector<Tensor> inputs = test::open_inputs(item, size / 2, size);
      Json::Array given;
      for (const Tensor& input : inputs) given.push_back(values_of(input));
      trials.push_back(
          Json::object({{"inputs", std::move(given)}, {"output", values_of(item.op(inputs))}}));
    }
    all.push_back(Json::object({{"name", item.name}, {"trials", std::move(trials)}}));
  }
  std::ofstream(scratch.path("cases.json")) << Json(std::move(all)).dump();
  REQUIRE(test::run_python(CORNU_OPEN_AXES_SCRIPT, fmt::format("'{}'", scratch.path())) == 0);
  for (const test::OpenCase& item : test::open_cases()) {
    if (differing.contains(item.name)) continue;
    CAPTURE(item.name);
    Model model = load_model(scratch.path(item.name + "_of_keras.keras"));
    CHECK(model.output_shape().to_string() == item.expected.to_string());
    for (const int64_t size : {4, 10}) {
      const std::vector<Tensor> inputs = test::open_inputs(item, size / 2, size);
      CHECK(test::distance(Tensor(model(Tensors(inputs))), item.op(inputs)) < 1e-5);
    }
  }
}

// When it reads a file, Keras numbers the ops of masks by kind, in addition to the names in the
// file.
TEST_CASE("a model whose masks are concatenated is Keras's when saved") {
  const test::Scratch scratch;
  clear_session();
  const Tensor words = Input({.shape = {kUnknown}}), tags = Input({.shape = {kUnknown}});
  const auto embedded = [](const Tensor& x) {
    return layers::Embedding({.input_dim = 5, .output_dim = 2, .mask_zero = true})(x);
  };
  const Tensor both = layers::Concatenate()({embedded(words), embedded(tags)});
  const Tensor read =
      layers::Bidirectional(layers::LSTM({.units = 3, .return_sequences = true}))(both);
  const Tensor known = ops::expand_dims(ops::cast(ops::not_equal(words, 0), "float32"), -1);
  Model model({words, tags}, layers::GRU({.units = 2})(layers::Multiply()({read, known})));
  const Tensor first = {{1.0f, 2.0f, 0.0f, 0.0f}, {4.0f, 0.0f, 3.0f, 0.0f}};
  const Tensor second = {{2.0f, 3.0f, 1.0f, 0.0f}, {1.0f, 1.0f, 0.0f, 0.0f}};
  const Tensors inputs = {first, second};
  const Tensor output = model.predict(inputs, {.verbose = 0});
  model.save(scratch.path("masked.keras"));
  const Json trial =
      Json::object({{"inputs", Json::array({values_of(inputs[0]), values_of(inputs[1])})},
                    {"output", values_of(output)}});
  std::ofstream(scratch.path("cases.json"))
      << Json::array({Json::object({{"name", "masked"}, {"trials", Json::array({trial})}})}).dump();
  REQUIRE(test::run_python(CORNU_OPEN_AXES_SCRIPT, fmt::format("'{}'", scratch.path())) == 0);

  // When the file is read here, layers have their own names.
  for (const char* file : {"masked.keras", "masked_of_keras.keras"}) {
    Model loaded = load_model(scratch.path(file));
    CHECK(loaded.get_layer("concatenate").output().shape() == both.shape());
    CHECK(test::distance(loaded.predict(inputs, {.verbose = 0}), output) < 1e-5);
  }
}

}  // namespace cornu
