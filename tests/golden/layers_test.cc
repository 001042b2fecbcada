// SPDX-License-Identifier: Apache-2.0
// Every layer case compared with real Keras: configs, weights, outputs, masks, losses, gradients,
// and the weights after the call.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/autodiff/gradient_tape.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/golden/layer_case.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;
using cornu::test::golden_tensors;

namespace {

// Float32 sums in a different order.
constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 2e-6};

// The inputs, with the names of the call's arguments if the case specifies them.
Tensors arguments_of(const Json& item, const std::vector<Tensor>& inputs) {
  const Json* names = item.at("call_arguments").find("names");
  if (!names) return inputs;
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < inputs.size(); ++i) named.emplace_back((*names)[i].as_string(), inputs[i]);
  return Tensors::named(std::move(named));
}

// Builds the layer for the case's inputs and sets Keras's weights.
void prepare(const LayerHandle& layer, const Json& item, const std::vector<Tensor>& inputs) {
  test::build_layer(layer, item, inputs);
  CHECK(difference(serialize_layer(layer.get()), item.at("object")) == "");
  const auto& expected = item.at("weights").as_array();
  const std::vector<Variable> weights = layer.weights();
  REQUIRE(weights.size() == expected.size());
  std::vector<Tensor> values;
  for (size_t i = 0; i < weights.size(); ++i) {
    CHECK(weights[i].path() == expected[i].at("path").as_string());
    CHECK(weights[i].name() == expected[i].at("name").as_string());
    const bool trainable = layer.trainable() && weights[i].trainable();
    CHECK(trainable == expected[i].at("trainable").as_bool());
    values.push_back(golden_tensor(expected[i]));
  }
  layer.set_weights(values);
}

void check_gradients(GradientTape& tape, const LayerHandle& layer, const Json& item,
                     const std::vector<Tensor>& inputs, const Tensors& outputs) {
  const GradientOptions options = {.output_gradients = golden_tensors(item.at("output_gradients"))};
  const auto& of_inputs = item.at("input_gradients").as_array();
  REQUIRE(of_inputs.size() == inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    const Tensor gradient = tape.gradient(outputs, inputs[i], options);
    if (!of_inputs[i].is_null()) {
      CHECK(difference(gradient, of_inputs[i], kClose) == "");
    } else if (gradient.defined()) {  // dropping everything: TensorFlow has no gradient
      for (const double value : test::numbers_of(gradient)) CHECK(value == 0);
    }
  }
  const std::vector<Variable> weights = layer.trainable_weights();
  const auto& of_weights = item.at("weight_gradients").as_array();
  REQUIRE(of_weights.size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(weights[i].path());
    CHECK(weights[i].path() == of_weights[i].at("path").as_string());
    const Tensor gradient = tape.gradient(outputs, weights[i], options);
    if (of_weights[i].contains("data")) {
      CHECK(difference(gradient, of_weights[i], kClose) == "");
    } else {
      CHECK(!gradient.defined());
    }
  }
}

// Checks the weights after the constraints are applied.
void check_constraints(const LayerHandle& layer, const Json& item) {
  const Json* constrained = item.find("constrained");
  if (!constrained) return;
  const std::vector<Variable> weights = layer.weights();
  REQUIRE(constrained->size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(weights[i].path());
    const auto& constraint = weights[i].constraint();
    const Tensor value = constraint ? constraint(weights[i].value()) : Tensor();
    CHECK(difference(value, (*constrained)[i], kClose) == "");
  }
}

void check_case(const Json& item) {
  const std::vector<Tensor> inputs = golden_tensors(item.at("inputs"));
  const LayerHandle layer = layer_from_json(item.at("object"));
  prepare(layer, item, inputs);

  const Json& training = item.at("call_arguments").at("training");
  CallOptions options;
  if (!training.is_null()) options.training = training.as_bool();
  if (const Json* given = item.at("call_arguments").find("masks")) {
    std::vector<Tensor> masks(inputs.size());
    for (size_t i = 0; i < given->size(); ++i) {
      if (!(*given)[i].is_null()) masks[i] = golden_tensor((*given)[i]);
    }
    options.mask = masks;
  }
  if (const Json* settings = item.at("call_arguments").find("settings")) {
    options.settings = *settings;
  }
  GradientTape tape({.persistent = true});
  for (const Tensor& input : inputs) {
    if (is_floating(input.dtype())) tape.watch(input);
  }
  const Tensors outputs = layer(arguments_of(item, inputs), options);
  const auto stopped = tape.stop_recording();

  check_outputs(outputs, item.at("outputs"), kClose);
  if (const Json* mask = item.find("output_mask")) {
    CHECK(difference(outputs[0].mask(), *mask, kClose) == "");
  } else {
    CHECK(!outputs[0].mask().defined());
  }
  const Json* losses = item.find("losses");
  REQUIRE(layer.losses().size() == (losses ? losses->size() : 0));
  for (size_t i = 0; i < layer.losses().size(); ++i) {
    CHECK(layer.losses()[i].item<double>() ==
          doctest::Approx((*losses)[i].as_double()).epsilon(1e-5));
  }
  check_gradients(tape, layer, item, inputs, outputs);
  const auto& after = item.at("weights_after").as_array();
  for (size_t i = 0; i < after.size(); ++i) {
    CHECK(difference(layer.weights()[i].stored(), after[i], kClose) == "");
  }
  check_constraints(layer, item);
}

}  // namespace

TEST_CASE("layers are Keras's") {
  layers::lambda_registry().add("golden>scaled",
                                [](const Tensors& x, const CallArgs&, const Json& arguments) {
                                  const Json* factor = arguments.find("factor");
                                  return x.single() * (factor ? factor->as_double() : 2.0);
                                });
  layers::lambda_registry().add("golden>difference", [](const Tensors& x, const CallArgs&,
                                                        const Json&) { return x[0] - x[1]; });
  const Json cases = test::golden_cases("layers");
  int checked = 0;
  for (const Json& item : cases.as_array()) {
    const std::string& name = item.at("name").as_string();
    CAPTURE(name);
    check_case(item);
    ++checked;
  }
  CHECK(checked > 500);
}
