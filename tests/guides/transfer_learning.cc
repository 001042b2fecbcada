// SPDX-License-Identifier: Apache-2.0
// Guide: transfer learning and fine-tuning.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

TEST_CASE("transfer_trainable") {
  auto layer = layers::BatchNormalization();
  layer.build({kUnknown, 4});
  CHECK(layer.weights().size() == 4);
  CHECK(layer.trainable_weights().size() == 2);
  CHECK(layer.non_trainable_weights().size() == 2);

  // Make a model with 2 layers
  auto layer1 = layers::Dense({.units = 3, .activation = "relu"});
  auto layer2 = layers::Dense({.units = 3, .activation = "sigmoid"});
  Sequential model({Input({.shape = {3}}), layer1, layer2});
  // Freeze the first layer
  layer1.set_trainable(false);
  // Keep a copy of the weights of layer1 for later reference
  auto initial_layer1_weights_values = layer1.get_weights();
  // Train the model
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(values({2, 3}, 601), values({2, 3}, 602), {.verbose = 0});
  // Check that the weights of layer1 have not changed during training
  auto final_layer1_weights_values = layer1.get_weights();
  for (size_t i = 0; i < final_layer1_weights_values.size(); ++i) {
    CHECK(ops::all(ops::equal(initial_layer1_weights_values[i], final_layer1_weights_values[i]))
              .item<bool>());
  }
}

namespace {

Model make_base_model() {
  Tensor inputs = Input({.shape = {16, 16, 3}});
  Tensor x = layers::Conv2D({.filters = 8, .kernel_size = 3, .padding = "same", .use_bias = false})(
      inputs);
  x = layers::BatchNormalization()(x);
  x = layers::Activation("relu")(x);
  x = layers::SeparableConv2D({.filters = 8, .kernel_size = 3, .padding = "same"})(x);
  x = layers::BatchNormalization()(x);
  Tensor outputs = layers::Activation("relu")(x);
  return Model(inputs, outputs, {.name = "base"});
}

}  // namespace

TEST_CASE("transfer_workflow") {
  const Golden golden("transfer_workflow");
  Model base_model = make_base_model();
  initialize(base_model, 610);
  // Freeze the base_model
  base_model.set_trainable(false);

  // Create new model on top
  Tensor inputs = Input({.shape = {16, 16, 3}});
  // Pre-trained weights require that input be scaled from (0, 255) to (-1., +1.).
  auto scale_layer = layers::Rescaling({.scale = 1 / 127.5, .offset = -1});
  Tensor x = scale_layer(inputs);
  // The base model contains batchnorm layers. We want to keep them in inference mode when we
  // unfreeze the base model for fine-tuning, so we run it with training = false.
  x = base_model(x, {.training = false});
  x = layers::GlobalAveragePooling2D()(x);
  x = layers::Dropout({.rate = 0.0})(x);
  Tensor outputs = layers::Dense({.units = 1})(x);
  Model model(inputs, outputs);
  initialize(model.layers().back(), 611);
  Json counts = Json::array();
  auto count = [&] {
    counts.push_back(static_cast<int64_t>(model.trainable_weights().size()));
    counts.push_back(static_cast<int64_t>(model.non_trainable_weights().size()));
  };
  count();

  Tensor x_train = ops::round((values({24, 16, 16, 3}, 612) + 1) * 127.5);
  Tensor y_train = ops::cast(labels(24, 2, 613), "float32")(Slice(), newaxis);
  const FitOptions twice = {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false};
  model.compile({
      .optimizer = optimizers::Adam(),
      .loss = losses::BinaryCrossentropy({.from_logits = true}),
      .metrics = {metrics::BinaryAccuracy()},
  });
  golden.check("frozen", model.fit(x_train, y_train, twice));

  // Unfreeze the base_model. Note that it keeps running in inference mode.
  base_model.set_trainable(true);
  count();
  golden.check("counts", counts);
  model.compile({
      .optimizer = optimizers::SGD({.learning_rate = 1e-3}),  // Low learning rate
      .loss = losses::BinaryCrossentropy({.from_logits = true}),
      .metrics = {metrics::BinaryAccuracy()},
  });
  golden.check("tuned", model.fit(x_train, y_train, twice));
  golden.check("evaluate", model.evaluate(x_train, y_train, {.verbose = 0}));
  golden.check("predictions", model.predict(x_train(Slice(4)), {.verbose = 0}));
}
