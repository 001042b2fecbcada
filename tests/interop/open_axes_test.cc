// SPDX-License-Identifier: Apache-2.0
// Models of ops on axes of unknown size, saved here, give the same in real Keras (open_axes.py),
// and here again when Keras has saved them.
#include <doctest/doctest.h>

#include <fstream>
#include <set>

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
  // Keras's sparsemax takes another threshold; its op ConvTranspose mixes its arguments up, and
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

}  // namespace cornu
