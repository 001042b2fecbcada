// SPDX-License-Identifier: Apache-2.0
// A functional model with shared layers, a residual branch, two inputs and two outputs.
#include <cornu/cornu.h>

using namespace cornu;

Model make_model() {
  Tensor image = Input({.shape = {28, 28, 1}, .name = "image"});
  Tensor hint = Input({.shape = {10}, .name = "hint"});

  auto conv = layers::Conv2D({.filters = 16,
                              .kernel_size = {3, 3},
                              .padding = "same",
                              .kernel_regularizer = regularizers::L2(1e-4)});
  Tensor x = layers::Conv2D({.filters = 16, .kernel_size = 1})(image);
  x = layers::Activation("relu")(layers::BatchNormalization()(conv(x)));
  x = conv(x) + x;  // the same layer again: its weights are shared
  x = layers::GlobalAveragePooling2D()(x);
  x = layers::Concatenate()({x, hint});
  x = layers::Dropout({.rate = 0.5})(x);

  Tensor digit = layers::Dense({.units = 10, .name = "digit"})(x);
  Tensor parity = layers::Dense({.units = 1, .activation = "sigmoid", .name = "parity"})(x);
  return Model({image, hint}, {digit, parity}, {.name = "two_headed"});
}

int main() {
  Model model = make_model();
  model.compile({
      .optimizer = "adam",
      .loss = {{"digit", losses::SparseCategoricalCrossentropy({.from_logits = true})},
               {"parity", "binary_crossentropy"}},
      .loss_weights = {{"digit", 1.0}, {"parity", 0.2}},
      .metrics = {{"digit", {"accuracy"}}, {"parity", {"accuracy", metrics::AUC()}}},
  });

  Tensor image = random::normal({256, 28, 28, 1}, {.seed = 1});
  Tensor hint = random::uniform({256, 10}, {.seed = 2});
  Tensor digit = random::randint({256}, 0, 10, {.seed = 3});
  Tensor parity = ops::cast(ops::mod(digit, 2), DType::Float32);
  model.fit({{"image", image}, {"hint", hint}}, {{"digit", digit}, {"parity", parity}},
            {.batch_size = 32, .epochs = 2});
  auto outputs = model.predict({{"image", image}, {"hint", hint}});
  return outputs.at("digit").shape() == Shape{256, 10} ? 0 : 1;
}
