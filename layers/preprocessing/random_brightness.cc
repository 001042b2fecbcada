// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_brightness.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomBrightnessOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomBrightnessLayer : public RandomImageLayer<RandomBrightnessOptions> {
 public:
  explicit RandomBrightnessLayer(const RandomBrightnessOptions& options)
      : RandomImageLayer("RandomBrightness", options),
        bounds_(bounds_of("factor", options.factor, -1, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const Tensor delta = draw(images, bounds_) * (range_.upper - range_.lower);
    return adjust_brightness(images, delta, range_.lower, range_.upper);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomBrightness::RandomBrightness(const RandomBrightnessOptions& options)
    : LayerHandle(std::make_shared<RandomBrightnessLayer>(options)) {}

RandomBrightness RandomBrightness::from_config(const Json& config) {
  return RandomBrightness(read_layer_options<RandomBrightnessOptions>(config));
}

}  // namespace cornu::layers
