// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_brightness.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomBrightnessOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomBrightnessLayer : public RandomFactorLayer<RandomBrightnessOptions> {
 public:
  explicit RandomBrightnessLayer(const RandomBrightnessOptions& options)
      : RandomFactorLayer("RandomBrightness", options, -1, 1) {}

 protected:
  Tensor augmented(const Tensor& images) override {
    const Tensor delta = draw(images, factor()) * (range().upper - range().lower);
    return adjust_brightness(images, delta, range().lower, range().upper);
  }
};

}  // namespace

RandomBrightness::RandomBrightness(const RandomBrightnessOptions& options)
    : LayerHandle(std::make_shared<RandomBrightnessLayer>(options)) {}

RandomBrightness RandomBrightness::from_config(const Json& config) {
  return RandomBrightness(read_layer_options<RandomBrightnessOptions>(config));
}

}  // namespace cornu::layers
