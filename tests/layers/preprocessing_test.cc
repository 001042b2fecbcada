// SPDX-License-Identifier: Apache-2.0
// Layers of numbers: how they adapt, in models and in datasets.
#include <doctest/doctest.h>

#include "data/dataset.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;
using test::some_values;

namespace {

const Tensor kRows = Tensor::from<float>({1, 10, 3, 30}, {2, 2});

}  // namespace

TEST_CASE("Normalization conforms") {
  test::check_layer(
      {.name = "Normalization",
       .make =
           [] {
             return layers::Normalization({.mean = {0.5, 2.0, 1.0}, .variance = {1.0, 0.25, 2.0}});
           },
       .inputs = {some_values({4, 3})},
       .output_shape = {4, 3}});
}

TEST_CASE("a compiled function sees what Normalization has adapted to since") {
  const layers::Normalization layer;
  layer.build({kUnknown, 2});
  const Function call = function([&](const Tensor& x) { return Tensor(layer(x)); });
  CHECK(test::distance(call(kRows), kRows) == 0);
  layer.adapt(kRows);
  CHECK(test::distance(call(kRows), Tensor::from<float>({-1, -1, 1, 1}, {2, 2})) < 1e-6);
}

TEST_CASE("Normalization in a model and in a dataset") {
  const layers::Normalization layer;
  layer.adapt(data::Dataset::from_tensor_slices({kRows, Tensor::from({0, 1})}).batch(1));
  Sequential model({Input({.shape = {2}}), layer});
  const Tensor expected = Tensor::from<float>({-1, -1, 1, 1}, {2, 2});
  CHECK(test::distance(model.predict(kRows, {.verbose = 0}), expected) < 1e-6);
  auto dataset = data::Dataset::from_tensor_slices({kRows}).batch(2).map(
      [=](const Tensor& x) { return Tensor(layer(x)); });
  for (const auto& element : dataset) {
    CHECK(test::distance(element.tensor(0), expected) < 1e-6);
  }
}

TEST_CASE("adapting reads the first steps") {
  const layers::Normalization layer({.axis = {}});
  const auto endless = data::Dataset::from_tensor_slices({kRows}).batch(1).repeat();
  CHECK(error_of([&] { layer.adapt(endless); }) ==
        "InvalidArgument: adapt: the dataset never ends. Say how many batches to read, as "
        "adapt(dataset, {.steps = 100}) does.");
  layer.adapt(endless, {.steps = 3});
  CHECK(layer.weight("mean").stored().item<float>() == doctest::Approx((11 + 33 + 11) / 6.0));
}

TEST_CASE("what Normalization refuses") {
  CHECK(error_of([] { layers::Normalization({.mean = 1.0, .name = "n"}); }) ==
        "InvalidArgument: Normalization 'n': expected both mean and variance, or none of them.");
  CHECK(error_of([] { layers::Normalization({.mean = 1.0, .variance = {1.0}, .name = "n"}); }) ==
        "InvalidArgument: Normalization 'n': expected mean and variance of one shape, got () and "
        "(1,).");
  CHECK(error_of([] {
          layers::Normalization({.axis = {}, .mean = {1.0}, .variance = {1.0}, .name = "n"});
        }) ==
        "InvalidArgument: Normalization 'n': expected a mean of as many axes as `axis` has (0) or "
        "fewer, got shape (1,).");
  const layers::Normalization given({.mean = {1.0, 2.0}, .variance = {1.0, 2.0}, .name = "n"});
  CHECK(
      error_of([&] {
        given(some_values({2, 3}));
      }) ==
      "InvalidArgument: Normalization 'n': expected a mean and a variance that broadcast to (3,), "
      "got (2,).");
  CHECK(
      error_of([&] { given.adapt(kRows); }) ==
      "FailedPrecondition: Normalization 'n': adapt sets mean and variance, which were given when "
      "it was made. Leave them out there.");
  const layers::Normalization layer({.name = "n"});
  CHECK(error_of([&] { layer.adapt(Tensor::from({"a"})); }) ==
        "InvalidArgument: Normalization 'n': adapt expected numbers, got strings.");
  CHECK(error_of([&] { layer.adapt(Tensor()); }) ==
        "InvalidArgument: adapt: expected examples, got none.");
  CHECK(error_of([&] { layer.adapt(kRows, {.steps = 1}); }) ==
        "InvalidArgument: adapt: steps are for datasets: a tensor is taken as a whole.");
  CHECK(error_of([&] { layer.adapt(data::Dataset::range(0).batch(2), {.steps = 0}); }) ==
        "InvalidArgument: adapt: expected steps > 0, got 0.");
  CHECK(error_of([&] { layer.adapt(data::Dataset::range(0).batch(2)); }) ==
        "InvalidArgument: adapt: expected batches, got none: the dataset is empty.");
  layer.adapt(kRows);
  CHECK(error_of([&] {
          layer.adapt(some_values({2, 3}));
        }) ==
        "InvalidArgument: Normalization 'n': expected 2 elements on axis 1, as when the layer was "
        "built, got (2, 3). Another size needs another layer.");
  CHECK(error_of([&] {
          layer(some_values({2, 2, 2}));
        }) ==
        "InvalidArgument: Normalization 'n': expected 2-D input, as when the layer was built, got "
        "(2, 2, 2).");
  CHECK(error_of([] { layers::Normalization({.axis = 2, .name = "n"})(kRows); }) ==
        "InvalidArgument: Normalization 'n': expected an input with axis 2, got (2, 2).");
  CHECK(
      error_of([] {
        layers::Normalization({.axis = {1, -1}, .name = "n"})(kRows);
      }) ==
      "InvalidArgument: Normalization 'n': expected each axis once, got [1, -1] for an input of 2 "
      "axes.");
}
