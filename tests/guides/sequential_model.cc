// SPDX-License-Identifier: Apache-2.0
// Guide: the Sequential model.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

TEST_CASE("sequential_layers") {
  const Golden golden("sequential_layers");
  Sequential model({
      layers::Dense({.units = 2, .activation = "relu", .name = "layer1"}),
      layers::Dense({.units = 3, .activation = "relu", .name = "layer2"}),
      layers::Dense({.units = 4, .name = "layer3"}),
  });
  CHECK(model.weights().empty());
  Tensor x = ops::ones({3, 3});
  model(x);
  CHECK(model.weights().size() == 6);
  initialize(model, 1);
  golden.check("y", model(x));
  golden.check("paths", paths_of(model.weights()));

  Tensor same = model.layers()[2](model.layers()[1](model.layers()[0](x)));
  CHECK(ops::all(ops::equal(same, model(x))).item<bool>());
  model.pop();
  CHECK(model.layers().size() == 2);
  golden.check("popped", model(x));
}

TEST_CASE("sequential_with_input") {
  const Golden golden("sequential_with_input");
  Sequential model({.name = "my_sequential"});
  model.add(Input({.shape = {4}}));
  model.add(layers::Dense({.units = 2, .activation = "relu", .name = "layer1"}));
  golden.check("first", summary(model));
  model.add(layers::Dense({.units = 3, .activation = "relu", .name = "layer2"}));
  model.add(layers::Dense({.units = 4, .name = "layer3"}));
  golden.check("whole", summary(model));
}

TEST_CASE("sequential_convolutions") {
  const Golden golden("sequential_convolutions");
  Sequential model;
  model.add(Input({.shape = {250, 250, 3}}));  // 250x250 RGB images
  model.add(layers::Conv2D({.filters = 32, .kernel_size = 5, .strides = 2, .activation = "relu"}));
  model.add(layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}));
  model.add(layers::MaxPooling2D({.pool_size = 3}));
  golden.check("first", summary(model));
  model.add(layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}));
  model.add(layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}));
  model.add(layers::MaxPooling2D({.pool_size = 3}));
  model.add(layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}));
  model.add(layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}));
  model.add(layers::MaxPooling2D({.pool_size = 2}));
  golden.check("second", summary(model));
  model.add(layers::GlobalMaxPooling2D());
  model.add(layers::Dense({.units = 10}));
  golden.check("whole", summary(model));
}

TEST_CASE("sequential_features") {
  const Golden golden("sequential_features");
  Sequential initial_model({
      Input({.shape = {30, 30, 3}}),
      layers::Conv2D({.filters = 8, .kernel_size = 5, .strides = 2, .activation = "relu"}),
      layers::Conv2D(
          {.filters = 8, .kernel_size = 3, .activation = "relu", .name = "my_intermediate_layer"}),
      layers::Conv2D({.filters = 8, .kernel_size = 3, .activation = "relu"}),
  });
  initialize(initial_model, 2);
  Tensor x = values({1, 30, 30, 3}, 3);
  std::vector<Tensor> outputs;
  for (const LayerHandle& layer : initial_model.layers()) outputs.push_back(layer.output());
  Model feature_extractor(initial_model.inputs(), outputs);
  Tensors features = feature_extractor(x);

  Model one(initial_model.inputs(), initial_model.get_layer("my_intermediate_layer").output());
  Json shapes = Json::array();
  std::vector<double> sums;
  for (const Tensor& feature : features) {
    shapes.push_back(feature.shape());
    sums.push_back(double(ops::sum(feature)));
  }
  golden.check("shapes", shapes);
  golden.check("sums", sums);
  golden.check("one", double(ops::sum(one(x))));
}

TEST_CASE("sequential_freezing") {
  const Golden golden("sequential_freezing");
  Sequential model({
      Input({.shape = {784}}),
      layers::Dense({.units = 32, .activation = "relu"}),
      layers::Dense({.units = 32, .activation = "relu"}),
      layers::Dense({.units = 32, .activation = "relu"}),
      layers::Dense({.units = 10}),
  });
  auto all = model.layers();
  all.pop_back();
  for (const LayerHandle& layer : all) layer.set_trainable(false);
  golden.check("trainable", paths_of(model.trainable_weights()));
  golden.check("summary", summary(model, {.show_trainable = true}));
}
