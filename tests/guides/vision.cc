// SPDX-License-Identifier: Apache-2.0
// Examples: MNIST convnet, convolutional autoencoder, siamese network, FGSM.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

TEST_CASE("mnist_convnet") {
  const Golden golden("mnist_convnet");
  const int num_classes = 10;
  Sequential model({
      Input({.shape = {28, 28, 1}}),
      layers::Conv2D({.filters = 32, .kernel_size = {3, 3}, .activation = "relu"}),
      layers::MaxPooling2D({.pool_size = {2, 2}}),
      layers::Conv2D({.filters = 64, .kernel_size = {3, 3}, .activation = "relu"}),
      layers::MaxPooling2D({.pool_size = {2, 2}}),
      layers::Flatten(),
      layers::Dropout({.rate = 0.0}),
      layers::Dense({.units = num_classes, .activation = "softmax"}),
  });
  initialize(model, 800);
  Tensor x_train = positive({40, 28, 28}, 801);
  x_train = ops::expand_dims(x_train, -1);
  Tensor y_train = ops::one_hot(labels(40, num_classes, 802), num_classes);
  model.compile({.optimizer = "adam", .loss = "categorical_crossentropy", .metrics = {"accuracy"}});
  golden.check("history", model.fit(x_train, y_train,
                                    {.batch_size = 16,
                                     .epochs = 2,
                                     .verbose = 0,
                                     .validation_split = 0.1,
                                     .shuffle = false}));
  golden.check("score", model.evaluate(x_train, y_train, {.verbose = 0}));
  golden.check("summary", summary(model));
}

TEST_CASE("autoencoder_example") {
  const Golden golden("autoencoder_example");
  Tensor input = Input({.shape = {28, 28, 1}});
  const layers::Conv2DOptions encode = {
      .filters = 32, .kernel_size = {3, 3}, .padding = "same", .activation = "relu"};
  const layers::Conv2DTransposeOptions decode = {
      .filters = 32, .kernel_size = {3, 3}, .strides = 2, .padding = "same", .activation = "relu"};
  // Encoder
  Tensor x = layers::Conv2D(encode)(input);
  x = layers::MaxPooling2D({.pool_size = {2, 2}, .padding = "same"})(x);
  x = layers::Conv2D(encode)(x);
  x = layers::MaxPooling2D({.pool_size = {2, 2}, .padding = "same"})(x);
  // Decoder
  x = layers::Conv2DTranspose(decode)(x);
  x = layers::Conv2DTranspose(decode)(x);
  x = layers::Conv2D(
      {.filters = 1, .kernel_size = {3, 3}, .padding = "same", .activation = "sigmoid"})(x);
  // Autoencoder
  Model autoencoder(input, x);
  initialize(autoencoder, 810);
  autoencoder.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  Tensor data = positive({24, 28, 28, 1}, 811);
  Tensor noisy = ops::clip(data + 0.4 * (positive({24, 28, 28, 1}, 812) - 0.5), 0.0, 1.0);
  golden.check("history", autoencoder.fit(noisy, data,
                                          {.batch_size = 8,
                                           .epochs = 2,
                                           .verbose = 0,
                                           .validation_data = {data(Slice(8)), data(Slice(8))},
                                           .shuffle = false}));
  golden.check("summary", summary(autoencoder));
}

namespace {

Tensor euclidean_distance(const Tensor& x, const Tensor& y) {
  Tensor sum_square = ops::sum(ops::square(x - y), 1, /*keepdims=*/true);
  return ops::sqrt(ops::maximum(sum_square, 1e-7));
}

// Provides contrastive_loss an enclosing scope with variable margin.
Loss contrastive_loss(double margin = 1) {
  return [margin](const Tensor& y_true, const Tensor& y_pred) {
    Tensor square_pred = ops::square(y_pred);
    Tensor margin_square = ops::square(ops::maximum(margin - y_pred, 0));
    return ops::mean((1 - y_true) * square_pred + y_true * margin_square);
  };
}

Model make_embedding_network() {
  Tensor input = Input({.shape = {28, 28, 1}});
  Tensor x = layers::BatchNormalization()(input);
  x = layers::Conv2D({.filters = 4, .kernel_size = {5, 5}, .activation = "tanh"})(x);
  x = layers::AveragePooling2D({.pool_size = {2, 2}})(x);
  x = layers::Conv2D({.filters = 16, .kernel_size = {5, 5}, .activation = "tanh"})(x);
  x = layers::AveragePooling2D({.pool_size = {2, 2}})(x);
  x = layers::Flatten()(x);
  x = layers::BatchNormalization()(x);
  x = layers::Dense({.units = 10, .activation = "tanh"})(x);
  return Model(input, x);
}

}  // namespace

TEST_CASE("siamese_contrastive") {
  const Golden golden("siamese_contrastive");
  Model embedding_network = make_embedding_network();
  Tensor input_1 = Input({.shape = {28, 28, 1}});
  Tensor input_2 = Input({.shape = {28, 28, 1}});
  // As mentioned above, Siamese Network share weights between tower networks.
  Tensor tower_1 = embedding_network(input_1);
  Tensor tower_2 = embedding_network(input_2);
  Tensor merge_layer = euclidean_distance(tower_1, tower_2);
  Tensor normal_layer = layers::BatchNormalization()(merge_layer);
  Tensor output_layer = layers::Dense({.units = 1, .activation = "sigmoid"})(normal_layer);
  Model siamese({input_1, input_2}, output_layer);
  initialize(siamese, 820);

  siamese.compile({
      .optimizer = optimizers::SGD({.learning_rate = 0.01}),
      .loss = contrastive_loss(/*margin=*/1),
      .metrics = {"accuracy"},
  });
  Tensor pairs = positive({2, 32, 28, 28, 1}, 821);
  Tensor first = pairs[0], second = pairs[1];
  Tensor y = ops::cast(labels(32, 2, 822), "float32");
  golden.check("history",
               siamese.fit({first, second}, y,
                           {.batch_size = 8,
                            .epochs = 2,
                            .verbose = 0,
                            .validation_data = {{first(Slice(8)), second(Slice(8))}, y(Slice(8))},
                            .shuffle = false}));
  golden.check("predictions", siamese.predict({first(Slice(3)), second(Slice(3))}, {.verbose = 0}));
}

namespace {

Model fgsm_classifier() {
  Tensor inputs = Input({.shape = {8, 8, 1}});
  Tensor x = layers::Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu"})(inputs);
  x = layers::Flatten()(x);
  Tensor outputs = layers::Dense({.units = 3, .activation = "softmax"})(x);
  Model model(inputs, outputs);
  initialize(model, 830);
  return model;
}

}  // namespace

TEST_CASE("fgsm") {
  const Golden golden("fgsm");
  Model model = fgsm_classifier();
  model.set_trainable(false);
  losses::CategoricalCrossentropy loss_object;

  auto input_gradient = [&](const Tensor& input_image, const Tensor& input_label) {
    GradientTape tape;
    tape.watch(input_image);
    Tensor prediction = model(input_image);
    Tensor loss = loss_object(input_label, prediction);
    // Get the gradients of the loss w.r.t to the input image.
    return tape.gradient(loss, input_image);
  };
  Tensor image = positive({1, 8, 8, 1}, 831);
  Tensor label = ops::one_hot(Tensor::from<int32_t>({1}), 3);
  Tensor gradient = input_gradient(image, label);
  // Get the sign of the gradients to create the perturbation
  Tensor perturbations = ops::sign(gradient);
  golden.check("gradient", gradient);
  golden.check("perturbations", perturbations);
  std::vector<double> confidences;
  for (const double epsilon : {0.0, 0.01, 0.1, 0.15}) {
    Tensor adversarial = ops::clip(image + epsilon * perturbations, 0, 1);
    confidences.push_back(double(model(adversarial)(0, 1)));
  }
  golden.check("confidences", confidences);

  // The same for a batch with a variable as the image, as in style transfer.
  Variable variable(positive({1, 8, 8, 1}, 832));
  optimizers::SGD optimizer({.learning_rate = 0.5});
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    Tensor loss = ops::mean(ops::square(model(variable) - label));
    optimizer.apply({tape.gradient(loss, variable)}, {variable});
    losses.push_back(double(loss));
  }
  golden.check("losses", losses);
}

TEST_CASE("integrated_gradients") {
  const Golden golden("integrated_gradients");
  Model model = fgsm_classifier();
  Tensor image = positive({8, 8, 1}, 833);
  Tensor baseline = ops::zeros({8, 8, 1});
  const int steps = 20;
  Tensor alphas = ops::cast(ops::arange(steps + 1), "float32") / steps;
  Tensor interpolated =
      baseline[newaxis] + alphas(Slice(), newaxis, newaxis, newaxis) * (image - baseline)[newaxis];
  GradientTape tape;
  tape.watch(interpolated);
  Tensor target = model(interpolated)(Slice(), 2);
  Tensor grads = tape.gradient(target, interpolated);
  // Riemann sum with the trapezoidal rule
  Tensor averages = ops::mean((grads(Slice(-1)) + grads(Slice(1, {}))) / 2.0, 0);
  Tensor attributions = (image - baseline) * averages;
  golden.check("attributions", attributions);
  golden.check("sum", double(ops::sum(attributions)));
  golden.check("difference", double(target[-1] - target[0]));
}
