// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_saturation.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomSaturationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomSaturationLayer : public RandomImageLayer<RandomSaturationOptions> {
 public:
  explicit RandomSaturationLayer(const RandomSaturationOptions& options)
      : RandomImageLayer("RandomSaturation", options),
        bounds_(bounds_of("factor", options.factor, -1, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomImageLayer::check_input(shape);
    require_rgb(shape);
  }

  Tensor augmented(const Tensor& images) override {
    return adjust_saturation(images, saturation_factors(draw(images, bounds_)), range_);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomSaturation::RandomSaturation(const RandomSaturationOptions& options)
    : LayerHandle(std::make_shared<RandomSaturationLayer>(options)) {}

RandomSaturation RandomSaturation::from_config(const Json& config) {
  return RandomSaturation(read_layer_options<RandomSaturationOptions>(config));
}

}  // namespace cornu::layers
