// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_hue.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomHueOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomHueLayer : public RandomFactorLayer<RandomHueOptions> {
 public:
  explicit RandomHueLayer(const RandomHueOptions& options)
      : RandomFactorLayer("RandomHue", options, 0, 1) {}

 protected:
  void check_input(const Shape& shape) const override {
    RandomFactorLayer::check_input(shape);
    require_rgb(shape);
  }

  Tensor augmented(const Tensor& images) override {
    const Tensor sign = ops::where(draw(images, {0, 1}) > 0.5, -1.0, 1.0);
    return adjust_hue(images, sign * draw(images, factor()) * 0.5, range());
  }
};

}  // namespace

RandomHue::RandomHue(const RandomHueOptions& options)
    : LayerHandle(std::make_shared<RandomHueLayer>(options)) {}

RandomHue RandomHue::from_config(const Json& config) {
  return RandomHue(read_layer_options<RandomHueOptions>(config));
}

}  // namespace cornu::layers
