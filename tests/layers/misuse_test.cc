// SPDX-License-Identifier: Apache-2.0
// Layers that are given nothing, or what changes from call to call.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

TEST_CASE("no inputs, names or outputs where there must be some") {
  const auto types_of = [](const LayerHandle& layer,
                           const std::vector<std::pair<DType, Shape>>& inputs,
                           const std::vector<std::string>& names = {}) {
    return error_of([&] { layer.get().compute_output_types(inputs, {}, names); });
  };
  const layers::Concatenate concatenate({.name = "c"});
  CHECK(types_of(concatenate, {}) ==
        "InvalidArgument: Concatenate 'c': expected an input, got none.");
  CHECK(error_of([&] { concatenate.get().ensure_built({}); }) ==
        "InvalidArgument: Concatenate 'c': expected an input, got none.");
  CHECK(types_of(concatenate, {{DType::Float32, {2, 3}}, {DType::Float32, {2, 3}}}, {"a"}) ==
        "InvalidArgument: Concatenate 'c': expected a name for each of 2 inputs, got 1.");
  const layers::Lambda nothing([](const Tensors&) { return Tensors(); }, {.name = "l"});
  CHECK(error_of([&] {
          nothing.compute_output_shape({2, 3});
        }) == "InvalidArgument: Lambda 'l': expected a layer with an output, got none.");
}

TEST_CASE("a layer that couldn't be built is still described") {
  const layers::MultiHeadAttention heads({.num_heads = 2, .key_dim = 2, .name = "heads"});
  CHECK(error_of([&] { heads.build({2, 3}); }) != "");
  CHECK(layer_from_json(serialize_layer(heads.get())).name() == "heads");
  CHECK_FALSE(serialize_layer(heads.get()).contains("build_config"));
}

TEST_CASE("a layer whose outputs depend on more than its inputs") {
  int calls = 0;
  const layers::Lambda ranks(
      [&](const Tensor& x) { return ++calls % 2 == 0 ? x : ops::expand_dims(x, 0); },
      {.name = "ranks"});
  const layers::Lambda numbers(
      [&](const Tensors& x) {
        return ++calls % 2 == 0 ? x : Tensors({x[0], x[0]});
      },
      {.name = "numbers"});
  const char* advice = " A function may not depend on anything but its inputs.";
  const std::string of_ranks = error_of([&] { ranks(Input({.shape = {3}})); });
  CHECK_MESSAGE(of_ranks.starts_with("InvalidArgument: Lambda 'ranks': expected results whose "
                                     "number and ranks are the same for inputs of all sizes, got"),
                of_ranks);
  CHECK_MESSAGE(of_ranks.ends_with(advice), of_ranks);
  const std::string of_numbers = error_of([&] { numbers(Input({.shape = {3}})); });
  CHECK_MESSAGE(of_numbers.ends_with(advice), of_numbers);
}

TEST_CASE("functions that are empty") {
  const Tensor x = ops::ones({2, 3});
  using OfTensor = std::function<Tensor(const Tensor&)>;
  const layers::Lambda lambda(std::function<Tensors(const Tensors&)>(), {.name = "l"});
  CHECK(error_of([&] { lambda(x); }) ==
        "InvalidArgument: Lambda 'l': it calls a function that is empty. Give it another one.");
  CHECK(error_of([&] { layers::Dense({.units = 2, .activation = OfTensor(), .name = "d"})(x); }) ==
        "InvalidArgument: Dense 'd': it calls a function that is empty. Give it another one.");
  const std::function<Tensor(const Shape&, DType)> of_shape;
  CHECK(error_of(
            [&] { layers::Dense({.units = 2, .kernel_initializer = of_shape, .name = "d"})(x); }) ==
        "InvalidArgument: Dense 'd': it calls a function that is empty. Give it another one.");
}

TEST_CASE("renormalization without an initial variance") {
  const Tensor x = ops::ones({2, 3});
  const layers::BatchNormalization norm(
      {.moving_variance_initializer = nullptr, .renorm = true, .name = "bn"});
  CHECK(error_of([&] { norm(x); }) ==
        "InvalidArgument: BatchNormalization 'bn': expected a moving_variance_initializer, which "
        "renorm needs for its averages of the standard deviation, got none.");
}
