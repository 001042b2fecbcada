// SPDX-License-Identifier: Apache-2.0
// Functions as layers: their arguments, and how they are saved in files.
#include <doctest/doctest.h>

#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::distance;
using test::error_of;
using test::some_values;

namespace {

const Tensor kX = some_values({2, 3});

// Registers "lambda_test>scaled" once.
std::string scaled() {
  const std::string name = "lambda_test>scaled";
  if (!layers::lambda_registry().find(name)) {
    layers::lambda_registry().add(
        name, [](const Tensors& inputs, const CallArgs&, const Json& arguments) {
          return inputs.single() * arguments.at("factor").as_double();
        });
  }
  return name;
}

}  // namespace

TEST_CASE("a Lambda layer is its function") {
  CHECK(distance(layers::Lambda([](const Tensor& x) { return x * 2; })(kX), kX * 2) == 0);
  const layers::Lambda sum([](const Tensors& x) { return x[0] + x[1]; });
  CHECK(distance(sum({kX, kX}), kX * 2) == 0);
  const layers::Lambda halves([](const Tensor& x) { return Tensors{x / 2, x}; });
  CHECK(halves(kX).size() == 2);
  const layers::Lambda power(
      [](const Tensor& x, const Json& arguments) {
        return ops::power(x, arguments.at("exponent").as_int());
      },
      {.arguments = Json::object({{"exponent", 2}})});
  CHECK(distance(power(kX), kX * kX) < 1e-7);
  const layers::Lambda noisy([](const Tensors& x, const CallArgs& args, const Json&) {
    return args.training ? x.single() + 1 : x.single();
  });
  CHECK(distance(noisy(kX), kX) == 0);
  CHECK(distance(noisy(kX, {.training = true}), kX + 1) < 1e-6);
  CHECK(distance(layers::Lambda("relu")(kX), ops::relu(kX)) == 0);
}

TEST_CASE("the mask of a Lambda layer's output") {
  const Tensor given = Tensor::from<bool>({true, false});
  const Tensor masked = kX.with_mask(given);
  const auto same = [](const Tensor& x) { return x * 2; };
  const auto mask_of = [](const LayerHandle& layer, const Tensor& x) {
    return Tensor(layer(x)).mask();
  };
  CHECK(!mask_of(layers::Lambda(same), masked).defined());
  const auto inverted = [](const Tensor&, const Tensor& mask) {
    return mask.defined() ? ops::logical_not(mask) : Tensor();
  };
  const layers::Lambda turns(same, {.mask = inverted});
  CHECK(mask_of(turns, masked).to_vector<bool>() == std::vector<bool>{false, true});
  CHECK(!mask_of(turns, kX).defined());
  const layers::Lambda always(same, {.mask = given});
  CHECK(mask_of(always, kX).to_vector<bool>() == std::vector<bool>{true, false});

  layers::lambda_registry().add("lambda_test>inverted",
                                [](const Tensors&, const CallArgs& args, const Json&) -> Tensors {
                                  return ops::logical_not(args.mask);
                                });
  const auto read_back = [](const layers::LambdaMask& mask) -> LayerHandle {
    const layers::Lambda layer("relu", {.mask = mask, .name = "l"});
    const LayerHandle back = layer_from_json(serialize_layer(layer.get()));
    CHECK(back.get_config() == layer.get_config());
    return back;
  };
  CHECK(mask_of(read_back("lambda_test>inverted"), masked).to_vector<bool>() ==
        std::vector<bool>{false, true});
  CHECK(mask_of(read_back(given), kX).to_vector<bool>() == std::vector<bool>{true, false});
  const layers::Lambda unnamed("relu", {.mask = inverted, .name = "l"});
  CHECK(error_of([&] {
          unnamed.get_config();
        }).starts_with("FailedPrecondition: Lambda 'l': its mask has no name, which files need."));
  CHECK(error_of([] {
          layers::Lambda::from_config(Json::parse(
              R"({"name": "l", "function": "relu", "mask": {"class_name": "__lambda__"}})"));
        }).starts_with("InvalidArgument: Lambda 'l': its mask is Python bytecode, which is never"));
}

TEST_CASE("models of Lambda layers train, are saved and cloned") {
  const test::Scratch scratch;
  const Tensor in = Input({.shape = {3}});
  const Tensor x = layers::Dense({.units = 2})(in);
  Model model(in, layers::Lambda(scaled(), {.output_shape = Json::array({2}),
                                            .arguments = Json::object({{"factor", 3.0}})})(x));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(kX, ops::ones({2, 2}), {.verbose = 0});
  model.save(scratch.path("m.keras"));
  Model back = load_model(scratch.path("m.keras"));
  CHECK(distance(back(kX), model(kX)) == 0);
  CHECK(back.layers().back().get_config() == model.layers().back().get_config());
  Model clone = clone_model(model);
  clone.set_weights(model.get_weights());
  CHECK(distance(clone(kX), model(kX)) == 0);
}

TEST_CASE("what users are told of Lambda layers") {
  clear_session();
  const layers::Lambda plain([](const Tensor& x) { return x; }, {.name = "l"});
  CHECK(error_of([&] { serialize_layer(plain.get()); }) ==
        "FailedPrecondition: Lambda 'l': its function has no name, which files need. Register one, "
        "layers::lambda_registry().add(\"package>name\", function), and give layers::Lambda that "
        "name; in Python keras.saving.register_keras_serializable(\"package\") registers it.");
  scaled();
  CHECK(
      error_of([] { layers::Lambda("lambda_test>scalde"); })
          .starts_with("InvalidArgument: Unknown function 'lambda_test>scalde' of a Lambda layer. "
                       "Did you mean 'lambda_test>scaled'?"));
  const auto from_function = [](const char* function) {
    return error_of([&] {
      layers::Lambda::from_config(Json::parse(
          fmt::format(R"({{"name": "l", "dtype": "float32", "function": {}}})", function)));
    });
  };
  const std::string refused =
      "InvalidArgument: Lambda 'l': its function is Python bytecode, which is never executed.";
  CHECK(from_function(R"({"class_name": "__lambda__", "config": {"code": "4wEA"}})")
            .starts_with(refused));
  CHECK(from_function(R"(["4wEA", null, null])").starts_with(refused));
  CHECK(from_function(R"("nobody>knows")").starts_with("InvalidArgument: Unknown function"));
  CHECK(from_function("3") != "");
  CHECK(from_function("null") != "");
}

TEST_CASE("a model with a function without a name is cloned, alone and within another") {
  const Tensor x = Input({.shape = {3}});
  const Tensor doubled =
      layers::Lambda([](const Tensor& x) { return x * 2; }, {.name = "twice"})(x);
  Model inner(x, layers::Dense({.units = 2})(doubled));
  Sequential outer(
      {Input({.shape = {3}}), inner, layers::Lambda([](const Tensor& x) { return x + 1; })});
  outer.compile({.optimizer = "sgd", .loss = "mse"});
  Model clone = clone_model(outer);
  CHECK(clone.compiled());
  const Tensor values = some_values({4, 3});
  CHECK(distance(clone(values), outer(values)) > 0);  // it has its own weights
  clone.set_weights(outer.get_weights());
  CHECK(distance(clone(values), outer(values)) == 0);
  CHECK(clone_model(inner).get_layer("twice").name() == "twice");
}
