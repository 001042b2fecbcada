// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_hue.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomHueOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomHueLayer : public RandomImageLayer<RandomHueOptions> {
 public:
  explicit RandomHueLayer(const RandomHueOptions& options)
      : RandomImageLayer("RandomHue", options), bounds_(bounds_of("factor", options.factor, 0, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomImageLayer::check_input(shape);
    require_rgb(shape);
  }

  Tensor augmented(const Tensor& images) override {
    const Tensor sign = ops::where(draw(images, {0, 1}) > 0.5, -1.0, 1.0);
    return adjust_hue(images, sign * draw(images, bounds_) * 0.5, range_);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomHue::RandomHue(const RandomHueOptions& options)
    : LayerHandle(std::make_shared<RandomHueLayer>(options)) {}

RandomHue RandomHue::from_config(const Json& config) {
  return RandomHue(read_layer_options<RandomHueOptions>(config));
}

}  // namespace cornu::layers
