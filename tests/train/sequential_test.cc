// SPDX-License-Identifier: Apache-2.0
// Sequential models with several inputs, and the shapes they are built for.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::error_of;
using test::some_values;

namespace {

// Takes a dictionary.
class Weighed : public Layer {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    return Tensor(dense_(inputs["a"])) * 2.0f + Tensor(dense_(inputs["b"]));
  }
  std::string class_name() const override { return "sequential_test>Weighed"; }

 private:
  layers::Dense dense_ = track("dense", layers::Dense({.units = 2}));
};

// Takes a list.
class Sum : public Model {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    return Tensor(dense_(inputs[0])) + Tensor(dense_(inputs[1]));
  }
  std::string class_name() const override { return "sequential_test>Sum"; }
  Json get_config() const override { return Layer::get_config(); }

 private:
  layers::Dense dense_ = track("dense", layers::Dense({.units = 2}));
};

void register_classes() {
  static const bool done = [] {
    register_serializable("sequential_test>Weighed",
                          [](const Json&) { return make_layer<Weighed>(); });
    register_serializable("sequential_test>Sum", [](const Json&) { return make_layer<Sum>(); });
    return true;
  }();
  (void)done;
}

std::vector<float> numbers(Model& model, const Tensors& inputs) {
  return model.predict(inputs, {.verbose = 0}).to_vector<float>();
}

class TakesByName : public Layer {
 public:
  using Layer::Layer;
  Tensors call_list(const Tensors& x, const CallArgs&) override { return x["a"] * 2.0; }
  std::string class_name() const override { return "tests>TakesByName"; }
};

}  // namespace

TEST_CASE("a dictionary of one tensor reaches a Sequential model's first layer") {
  register_serializable("tests>TakesByName", [](const Json& config) {
    return make_layer<TakesByName>(LayerOptions::from_config(config));
  });
  Sequential model({make_layer<TakesByName>(), layers::Dense({.units = 2})});
  const Tensors x = Tensors{{"a", some_values({4, 3})}};
  const Tensor y = model(x);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor predicted = model.predict(x, {.verbose = 0});
  CHECK(predicted.to_vector<float>() == y.to_vector<float>());
  model.fit(x, ops::ones({4, 2}), {.verbose = 0});
  const test::Scratch scratch;
  model.save(scratch.path("m.keras"));
  Model loaded = load_model(scratch.path("m.keras"));
  CHECK(Tensor(loaded(x)).to_vector<float>() == Tensor(model(x)).to_vector<float>());
}

TEST_CASE("a Sequential model of a list of inputs") {
  const Tensor a = some_values({4, 3}), b = some_values({4, 2});
  Sequential model({layers::Concatenate(), layers::Dense({.units = 3})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit({a, b}, some_values({4, 3}), {.verbose = 0});
  CHECK(model.weights().size() == 2);
  REQUIRE(model.inputs().size() == 2);
  CHECK(model.inputs()[0].shape() == Shape{kUnknown, 3});
  CHECK(model.output_shape() == Shape{kUnknown, 3});
  const test::Scratch scratch;
  const std::string path = scratch.path("list.keras");
  model.save(path);
  Model loaded = load_model(path);
  CHECK(numbers(loaded, {a, b}) == numbers(model, {a, b}));
  Model clone = clone_model(model);
  clone.set_weights(model.get_weights());
  CHECK(numbers(clone, {a, b}) == numbers(model, {a, b}));
  CHECK(error_of([&] {
          Sequential one({layers::Concatenate()}, {.name = "m"});
          one({a, b});
          one(a);
        }) == "InvalidArgument: Sequential 'm': expected 2 inputs, got 1 of them.");
}

TEST_CASE("a Sequential model of named inputs, and a class of several, in files") {
  register_classes();
  const Tensor a = some_values({4, 3}), b = ops::zeros({4, 3});
  Sequential model({make_layer<Weighed>(), layers::Dense({.units = 3})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit({{"a", a}, {"b", b}}, some_values({4, 3}), {.verbose = 0});
  CHECK(model.inputs().names() == std::vector<std::string>{"a", "b"});
  CHECK(numbers(model, {{"b", b}, {"a", a}}) == numbers(model, {{"a", a}, {"b", b}}));
  const test::Scratch scratch;
  const std::string path = scratch.path("named.keras");
  model.save(path);
  Model loaded = load_model(path);
  CHECK(numbers(loaded, {{"b", b}, {"a", a}}) == numbers(model, {{"a", a}, {"b", b}}));

  Model sum = *make_layer<Sum>();
  sum({a, b});
  sum.save(path);
  Model other = load_model(path);
  CHECK(numbers(other, {a, b}) == numbers(sum, {a, b}));
}

TEST_CASE("a Sequential model is built for one shape of input") {
  Sequential model({Input({.shape = {2}}), layers::Dense({.units = 2})}, {.name = "m"});
  model.build({3, 2});
  model.build({kUnknown, 2});
  const std::string expected =
      "InvalidArgument: Sequential 'm' is already built for input of shape (None, 2), and can't be "
      "built for (3, 4). Another shape needs another model, of layers that aren't built.";
  CHECK(error_of([&] { model.build({3, 4}); }) == expected);
  Sequential deferred({layers::Dense({.units = 2})}, {.name = "m"});
  deferred.build({5, 2});
  CHECK(error_of([&] { deferred.build({3, 4}); }) == expected);
}

TEST_CASE("a Sequential model has one Input, before its layers") {
  Sequential model;
  model.add(Input({.shape = {2}, .name = "x"}));
  CHECK(error_of([&] { model.add(Input({.shape = {2}})); }) ==
        "InvalidArgument: Sequential: there is an Input already, 'x'. Omit the second one, or make "
        "a functional model of several.");
}
