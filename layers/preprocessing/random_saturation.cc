// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_saturation.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomSaturationOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomSaturationLayer : public RandomFactorLayer<RandomSaturationOptions> {
 public:
  explicit RandomSaturationLayer(const RandomSaturationOptions& options)
      : RandomFactorLayer("RandomSaturation", options, -1, 1) {}

 protected:
  void check_input(const Shape& shape) const override {
    RandomFactorLayer::check_input(shape);
    require_rgb(shape);
  }

  Tensor augmented(const Tensor& images) override {
    return adjust_saturation(images, saturation_factors(draw(images, factor())), range());
  }
};

}  // namespace

RandomSaturation::RandomSaturation(const RandomSaturationOptions& options)
    : LayerHandle(std::make_shared<RandomSaturationLayer>(options)) {}

RandomSaturation RandomSaturation::from_config(const Json& config) {
  return RandomSaturation(read_layer_options<RandomSaturationOptions>(config));
}

}  // namespace cornu::layers
