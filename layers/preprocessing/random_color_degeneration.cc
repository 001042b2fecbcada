// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_color_degeneration.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomColorDegenerationOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomColorDegenerationLayer : public RandomFactorLayer<RandomColorDegenerationOptions> {
 public:
  explicit RandomColorDegenerationLayer(const RandomColorDegenerationOptions& options)
      : RandomFactorLayer("RandomColorDegeneration", options, -1, 1) {}

 protected:
  void check_input(const Shape& shape) const override {
    RandomFactorLayer::check_input(shape);
    require_rgb(shape, true);
  }

  Tensor augmented(const Tensor& images) override {
    return degenerate_colors(images, draw(images, factor()), range());
  }
};

}  // namespace

RandomColorDegeneration::RandomColorDegeneration(const RandomColorDegenerationOptions& options)
    : LayerHandle(std::make_shared<RandomColorDegenerationLayer>(options)) {}

RandomColorDegeneration RandomColorDegeneration::from_config(const Json& config) {
  return RandomColorDegeneration(read_layer_options<RandomColorDegenerationOptions>(config));
}

}  // namespace cornu::layers
