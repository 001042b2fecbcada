// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

const CallArgs kTraining = {.training = true};

}  // namespace

TEST_CASE("moving statistics follow the batches' in training only") {
  const layers::BatchNormalization layer({.momentum = 0.75});
  const Tensor x = Tensor::from<float>({1, 3, 5, 7}, {4, 1});  // mean 4, biased variance 5
  layer(x);
  const auto weights = layer.weights();
  REQUIRE(weights.size() == 4);
  CHECK(weights[2].name() == "moving_mean");
  CHECK(weights[3].name() == "moving_variance");
  CHECK(weights[2].aggregation() == VariableAggregation::Mean);
  CHECK(weights[3].aggregation() == VariableAggregation::Mean);
  CHECK(weights[2].stored().item<float>() == 0.0f);
  const Tensor normalized = layer(x, kTraining);
  CHECK(ops::mean(normalized).item<float>() == doctest::Approx(0.0));
  CHECK(weights[2].stored().item<float>() == doctest::Approx(0.25 * 4));
  CHECK(weights[3].stored().item<float>() == doctest::Approx(0.75 * 1 + 0.25 * 5));
}

TEST_CASE("a frozen BatchNormalization is in inference") {
  const layers::BatchNormalization layer({.trainable = false});
  const Tensor x = test::some_values({5, 2});
  const Tensor inference = layer(x, {.training = false});
  CHECK(test::distance(layer(x, kTraining), inference) == 0);
  CHECK(layer.trainable_weights().empty());
  layer.set_trainable(true);
  CHECK(test::distance(layer(x, kTraining), inference) > 0);
}

TEST_CASE("a compiled step updates moving statistics") {
  const layers::BatchNormalization layer({.momentum = 0.5});
  const Tensor x = Tensor::from<float>({2, 4}, {2, 1});
  layer(x);
  const Function step =
      function([&](const Tensor& input) { return Tensor(layer(input, kTraining)); });
  step(x);
  step(x);
  CHECK(layer.weights()[2].stored().item<float>() == doctest::Approx(3 * 0.75));
}

TEST_CASE("the axes of LayerNormalization are a list once it is built, as in Keras") {
  const layers::LayerNormalization layer;
  CHECK(layer.get_config().at("axis").dump() == "-1");
  layer(test::some_values({2, 3}));
  CHECK(layer.get_config().at("axis").dump() == "[-1]");
}

TEST_CASE("GroupNormalization of one group a channel") {
  const layers::GroupNormalization layer({.groups = -1});
  const Tensor y = layer(test::some_values({2, 16, 3}));
  CHECK(layer.get_config().at("groups").as_int() == 3);
  CHECK(test::distance(ops::mean(y, 1), ops::zeros({2, 3})) < 1e-6);
}

TEST_CASE("SpectralNormalization brings the largest singular value to 1") {
  const layers::Dense dense({.units = 3, .use_bias = false});
  const layers::SpectralNormalization layer(dense, {.power_iterations = 50});
  const Tensor x = test::some_values({2, 4});
  layer(x, {.training = false});
  const Tensor before = dense.kernel().stored();
  layer(x, kTraining);
  const Tensor kernel = dense.kernel().stored();
  const Tensor sigma = ops::norm(kernel, {.ord = 2, .axis = {0, 1}});
  CHECK(sigma.item<float>() == doctest::Approx(1).epsilon(1e-4));
  const double factor = ops::sum(kernel).item<float>() / ops::sum(before).item<float>();
  CHECK(test::distance(kernel, before * factor) < 1e-5);
  layer(x, {.training = false});
  CHECK(test::distance(dense.kernel().stored(), kernel) == 0);
}

TEST_CASE("SpectralNormalization leaves a kernel of zeros as it is") {
  const layers::Dense dense({.units = 3, .kernel_initializer = "zeros"});
  const layers::SpectralNormalization layer(dense);
  const Tensor x = test::some_values({2, 4});
  layer(x, {.training = false});
  const Tensor vector_u = layer.vector_u().stored();
  CHECK(test::distance(layer(x, kTraining), ops::zeros({2, 3})) == 0);
  CHECK(test::distance(layer.vector_u().stored(), vector_u) == 0);
}

TEST_CASE("a frozen layer stays frozen in SpectralNormalization, which has its kernel too") {
  const layers::Dense dense({.units = 3, .trainable = false});
  const layers::SpectralNormalization layer(dense);
  layer(test::some_values({2, 4}));
  CHECK(layer.trainable_weights().empty());
  CHECK(layer.non_trainable_weights().size() == 3);
  CHECK(layer.weights().size() == 3);
  dense.set_trainable(true);
  CHECK(layer.trainable_weights().size() == 2);
  CHECK(layer.non_trainable_weights().size() == 1);
}

TEST_CASE("normalizing no channels") {
  for (const int64_t groups : {-1, 1}) {
    const layers::GroupNormalization layer({.groups = groups});
    CHECK(layer(ops::ones({2, 7, 0})).shape() == Shape({2, 7, 0}));
  }
}
