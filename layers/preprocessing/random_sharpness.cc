// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_sharpness.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomSharpnessOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomSharpnessLayer : public RandomFactorLayer<RandomSharpnessOptions> {
 public:
  explicit RandomSharpnessLayer(const RandomSharpnessOptions& options)
      : RandomFactorLayer("RandomSharpness", options, 0, 1) {}

 protected:
  Tensor augmented(const Tensor& images) override {
    return sharpen(images, draw(images, factor()), range());
  }
};

}  // namespace

RandomSharpness::RandomSharpness(const RandomSharpnessOptions& options)
    : LayerHandle(std::make_shared<RandomSharpnessLayer>(options)) {}

RandomSharpness RandomSharpness::from_config(const Json& config) {
  return RandomSharpness(read_layer_options<RandomSharpnessOptions>(config));
}

}  // namespace cornu::layers
