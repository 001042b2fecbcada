// SPDX-License-Identifier: Apache-2.0
#include "apps/image_classification/network.h"

#include <algorithm>

namespace apps {

using namespace cornu;

namespace {

constexpr size_t kFineTuneFrom = 100;  // of the 154 layers

// The same model, but its moving statistics adapt within a few hundred steps instead of a few
// thousand.
Model with_quick_statistics(const Model& model) {
  const std::string slow = "\"momentum\": 0.999";
  std::string json = model.to_json();
  for (size_t at = json.find(slow); at != std::string::npos; at = json.find(slow, at)) {
    json.replace(at, slow.size(), "\"momentum\": 0.9");
  }
  return model_from_json(json);
}

Model make_base(const NetworkOptions& options) {
  const bool trained = !options.weights.empty();
  const Model base = applications::MobileNetV2(
      {.input_shape = {options.image_size, options.image_size, 3},
       .alpha = options.alpha,
       .include_top = false,
       .weights = trained ? applications::Weights(options.weights) : applications::Weights()});
  return trained ? base : with_quick_statistics(base);
}

}  // namespace

void Network::unfreeze_top() {
  base.set_trainable(true);
  const std::vector<LayerHandle> layers = base.layers();
  for (size_t i = 0; i < std::min(kFineTuneFrom, layers.size()); ++i)
    layers[i].set_trainable(false);
}

std::vector<LayerHandle> augmentation() {
  return {layers::RandomFlip("horizontal"), layers::RandomRotation({.factor = 0.1}),
          layers::RandomZoom({.height_factor = 0.1})};
}

Network make_network(const NetworkOptions& options) {
  Model base = make_base(options);
  const Tensor inputs = Input({.shape = {options.image_size, options.image_size, 3}});
  Tensor x = inputs;
  if (options.augment) {
    for (const LayerHandle& layer : augmentation()) x = layer(x);
  }
  x = applications::mobilenet_v2::preprocess_input(x);
  // Trained statistics are kept, even while the base is fine-tuned.
  x = options.weights.empty() ? base(x) : base(x, {.training = false});
  x = layers::GlobalAveragePooling2D()(x);
  x = layers::Dropout({.rate = 0.2})(x);
  return {Model(inputs, layers::Dense({.units = options.classes})(x)), base};
}

}  // namespace apps
