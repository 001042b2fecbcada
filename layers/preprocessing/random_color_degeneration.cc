// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_color_degeneration.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomColorDegenerationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomColorDegenerationLayer : public RandomImageLayer<RandomColorDegenerationOptions> {
 public:
  explicit RandomColorDegenerationLayer(const RandomColorDegenerationOptions& options)
      : RandomImageLayer("RandomColorDegeneration", options),
        bounds_(bounds_of("factor", options.factor, -1, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomImageLayer::check_input(shape);
    require_rgb(shape, true);
  }

  Tensor augmented(const Tensor& images) override {
    return degenerate_colors(images, draw(images, bounds_), range_);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomColorDegeneration::RandomColorDegeneration(const RandomColorDegenerationOptions& options)
    : LayerHandle(std::make_shared<RandomColorDegenerationLayer>(options)) {}

RandomColorDegeneration RandomColorDegeneration::from_config(const Json& config) {
  return RandomColorDegeneration(read_layer_options<RandomColorDegenerationOptions>(config));
}

}  // namespace cornu::layers
