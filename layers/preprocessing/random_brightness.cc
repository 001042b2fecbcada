// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_brightness.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomBrightnessOptions& options) {
  fields("data_format", options.data_format);
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
    options_.value_range = checked_range(options.value_range);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const auto& range = options_.value_range.values();
    const Tensor delta = draw(images, bounds_) * (range[1] - range[0]);
    return adjust_brightness(images, delta, range[0], range[1]);
  }

 private:
  Bounds bounds_;
};

}  // namespace

RandomBrightness::RandomBrightness(const RandomBrightnessOptions& options)
    : LayerHandle(std::make_shared<RandomBrightnessLayer>(options)) {}

RandomBrightness RandomBrightness::from_config(const Json& config) {
  return RandomBrightness(read_layer_options<RandomBrightnessOptions>(config));
}

}  // namespace cornu::layers
