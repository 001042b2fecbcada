// SPDX-License-Identifier: Apache-2.0
// Guide: transfer learning and fine-tuning.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"
#include "tests/support/scratch.h"

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

namespace {

Model make_backbone() {
  Tensor inputs = Input({.shape = {5}, .dtype = "int32"});
  Tensor x = layers::Embedding({.input_dim = 11, .output_dim = 6})(inputs);
  for (int i = 0; i < 2; ++i) {
    auto attention = layers::MultiHeadAttention(
        {.num_heads = 2, .key_dim = 3, .name = "attention_" + std::to_string(i)});
    x = layers::LayerNormalization()(x + attention({x, x}));
  }
  x = layers::GlobalAveragePooling1D()(x);
  return Model(inputs, layers::Dense({.units = 2})(x), {.name = "backbone"});
}

void enable_lora(const Model& backbone, int64_t rank) {
  for (const LayerHandle& layer : backbone.layers()) layer.set_trainable(false);
  for (const LayerHandle& layer : backbone.flatten_layers()) {
    if (layer.name() != "query" && layer.name() != "value") continue;
    layer.set_trainable(true);
    layer.enable_lora({.rank = rank});
  }
}

LayerHandle query_of(const Model& model, const std::string& attention) {
  return model.get_layer(attention).flatten_layers().at(1);
}

}  // namespace

TEST_CASE("transfer_lora") {
  const Golden golden("transfer_lora");
  const test::Scratch scratch;
  const std::string path = scratch.path("backbone.keras");
  Model pretrained = make_backbone();
  initialize(pretrained, 620);
  pretrained.save(path);

  Model model = load_model(path);
  enable_lora(model, 2);
  std::vector<std::string> classes, trained;
  for (const LayerHandle& layer : model.flatten_layers()) classes.push_back(layer.class_name());
  golden.check("classes", classes);
  const std::vector<Variable> variables = model.trainable_variables();
  for (size_t i = 0; i < variables.size(); ++i) {
    trained.push_back(variables[i].path());
    if (!variables[i].name().ends_with("_a")) continue;
    variables[i].assign(values(variables[i].shape(), 630 + static_cast<uint32_t>(i)));
  }
  golden.check("trained", trained);
  Tensor x = ops::reshape(labels(24 * 5, 11, 621), {24, 5}), y = values({24, 2}, 622);
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}), .loss = "mse"});
  golden.check("history",
               model.fit(x, y, {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false}));
  golden.check("predictions", model.predict(x(Slice(4)), {.verbose = 0}));

  // Files contain the sums, for models with and without LoRA.
  model.save_weights(scratch.path("tuned.weights.h5"));
  Model merged = load_model(path);
  merged.load_weights(scratch.path("tuned.weights.h5"));
  golden.check("merged", merged.predict(x(Slice(4)), {.verbose = 0}));
  golden.check("kernel", query_of(merged, "attention_1").weight("kernel"));
  golden.check("rank", query_of(model, "attention_0").get_config().at("lora_rank").as_double());
}
