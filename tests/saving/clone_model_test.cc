// SPDX-License-Identifier: Apache-2.0
// keras.models.clone_model with functions that create and call the new layers.
#include <doctest/doctest.h>

#include "framework/model/layer_registry.h"
#include "framework/train/model_config.h"
#include "tests/saving/models.h"
#include "tests/support/errors.h"

namespace cornu {
namespace {

using test::distance;
using test::message_of;
using test::numbers;

// Dense layers with another number of units.
LayerHandle wider(const LayerHandle& layer) {
  Json config = layer.get_config();
  if (layer.get().class_name() == "Dense") config.set("units", config.at("units").as_int() * 2);
  Json json = serialize_layer(layer.get());
  json.set("config", config);
  return layer_from_json(json);
}

Model two_inputs() {
  const Tensor a = Input({.shape = {4}, .name = "a"});
  const Tensor b = Input({.shape = {4}, .name = "b"});
  const layers::Dense shared({.units = 3, .name = "shared"});
  const Tensor sum = shared(a).single() + 2 * shared(b).single();
  return Model({a, b}, layers::Dense({.units = 2, .name = "last"})(sum), {.name = "both"});
}

}  // namespace

TEST_CASE("clones of layers by a function, once for each, in Sequential and functional models") {
  Sequential model(Input({.shape = {4}}),
                   {layers::Dense({.units = 3, .activation = "relu"}),
                    layers::Dropout({.rate = 0.5}), layers::Dense({.units = 2, .name = "last"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.25}), .loss = "mse"});
  std::vector<std::string> asked;
  Model clone = clone_model(model, {.clone_function = [&](const LayerHandle& layer) {
                              asked.push_back(layer.get().class_name());
                              return wider(layer);
                            }});
  CHECK(asked == std::vector<std::string>{"Dense", "Dropout", "Dense"});
  CHECK(clone.class_name() == "Sequential");
  CHECK(clone.output_shape() == Shape({kUnknown, 4}));
  REQUIRE(clone.compiled());
  CHECK(clone.optimizer().learning_rate().item<double>() == doctest::Approx(0.25));
  clone.fit(numbers({4, 4}), numbers({4, 4}), {.verbose = 0});
  CHECK(model.output_shape() == Shape({kUnknown, 2}));

  Model both = two_inputs();
  asked.clear();
  Model wide = clone_model(both, {.clone_function = [&](const LayerHandle& layer) {
                             asked.push_back(layer.name());
                             return wider(layer);
                           }});
  CHECK(asked == std::vector<std::string>{"shared", "last"});
  CHECK(wide.name() == "both");
  CHECK_FALSE(wide.compiled());
  CHECK(wide.weights().size() == both.weights().size());
  CHECK(wide.output_shape() == Shape({kUnknown, 4}));
  const Tensors x = {numbers({5, 4}), numbers({5, 4}, 0.5F)};
  CHECK(wide(x).shape() == Shape({5, 4}));

  // The same layers on other inputs: the weights are shared.
  Model same =
      clone_model(both, {.clone_function = [](const LayerHandle& layer) { return layer; }});
  CHECK(distance(same(x), both(x)) == 0);
  const Tensor given = Input({.shape = {4}, .name = "given"});
  Model twice =
      clone_model(both, {.input_tensors = {given, given},
                         .clone_function = [](const LayerHandle& layer) { return layer; }});
  CHECK(distance(twice({x[0], x[0]}), both({x[0], x[0]})) == 0);
}

TEST_CASE("calls by a function, and models within models") {
  Model both = two_inputs();
  int calls = 0;
  Model louder = clone_model(
      both, {.clone_function = [](const LayerHandle& layer) { return layer; },
             .call_function =
                 [&](const LayerHandle& layer, const Tensors& inputs, const CallOptions& options) {
                   ++calls;
                   const Tensors y = layer(inputs, options);
                   return layer.name() == "last" ? Tensors(y.single() * 3) : y;
                 }});
  CHECK(calls >= 3);
  const Tensors x = {numbers({5, 4}), numbers({5, 4}, 0.5F)};
  CHECK(distance(louder(x), both(x).single() * 3) < 1e-6);

  const Sequential inner(Input({.shape = {4}}), {layers::Dense({.units = 3, .name = "within"})},
                         {.name = "inner"});
  const Tensor input = Input({.shape = {4}});
  const Model outer(input, LayerHandle(inner)(input));
  std::vector<std::string> asked;
  const auto listen = [&](const LayerHandle& layer) {
    asked.push_back(layer.name());
    return layer_from_json(serialize_part(layer.get()));
  };
  clone_model(outer, {.clone_function = listen});
  CHECK(asked == std::vector<std::string>{"inner"});
  asked.clear();
  clone_model(outer, {.clone_function = listen, .recursive = true});
  CHECK(asked == std::vector<std::string>{"within"});
}

TEST_CASE("a clone is compiled as the model was, with an optimizer of its own") {
  Sequential model(Input({.shape = {4}}), {layers::Dense({.units = 2})});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  model.fit(numbers({4, 4}), numbers({4, 2}), {.epochs = 3, .verbose = 0});
  Model clone = clone_model(model);
  REQUIRE(clone.compiled());
  CHECK(clone.optimizer().iterations() == 0);
  CHECK(model.optimizer().iterations() == 3);
  CHECK(clone.evaluate(numbers({4, 4}), numbers({4, 2}), {.verbose = 0}).at("mae") > 0);
}

TEST_CASE("clones that can't be made") {
  Sequential list(Input({.shape = {4}}), {layers::Dense({.units = 2})}, {.name = "list"});
  const auto call = [](const LayerHandle& layer, const Tensors& x, const CallOptions& options) {
    return layer(x, options);
  };
  CHECK(message_of([&] { clone_model(list, {.call_function = call}); }) ==
        "clone_model: call_function goes with functional models; the layers of the Sequential "
        "'list' are called one after another.");
  CHECK(message_of([&] {
          clone_model(list, {.input_tensors = {Input({.shape = {4}}), Input({.shape = {4}})}});
        }) == "clone_model: expected 1 placeholder for the Sequential 'list', got 2.");
  Model both = two_inputs();
  CHECK(message_of([&] { clone_model(both, {.input_tensors = Input({.shape = {4}})}); }) ==
        "clone_model: expected 2 placeholders, as 'both' has inputs, got 1.");
  CHECK(message_of([&] {
          clone_model(both, {.input_tensors = {numbers({1, 4}), numbers({1, 4})}});
        }) ==
        "clone_model: expected input_tensors that are placeholders, got a tensor of shape (1, 4).");
  CHECK(message_of([&] {
          clone_model(both, {.clone_function = [](const LayerHandle&) { return LayerHandle(); }});
        }) == "clone_model: expected clone_function to give a layer for Dense 'shared', got none.");
}

}  // namespace cornu
