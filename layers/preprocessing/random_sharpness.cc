// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_sharpness.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomSharpnessOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomSharpnessLayer : public RandomImageLayer<RandomSharpnessOptions> {
 public:
  explicit RandomSharpnessLayer(const RandomSharpnessOptions& options)
      : RandomImageLayer("RandomSharpness", options),
        bounds_(bounds_of("factor", options.factor, 0, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    return sharpen(images, draw(images, bounds_), range_);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomSharpness::RandomSharpness(const RandomSharpnessOptions& options)
    : LayerHandle(std::make_shared<RandomSharpnessLayer>(options)) {}

RandomSharpness RandomSharpness::from_config(const Json& config) {
  return RandomSharpness(read_layer_options<RandomSharpnessOptions>(config));
}

}  // namespace cornu::layers
