// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_invert.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomInvertOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomInvertLayer : public RandomImageLayer<RandomInvertOptions> {
 public:
  explicit RandomInvertLayer(const RandomInvertOptions& options)
      : RandomImageLayer("RandomInvert", options),
        bounds_(bounds_of("factor", options.factor, 0, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    return ops::where(chance(images, bounds_), range_.upper - images, images);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomInvert::RandomInvert(const RandomInvertOptions& options)
    : LayerHandle(std::make_shared<RandomInvertLayer>(options)) {}

RandomInvert RandomInvert::from_config(const Json& config) {
  return RandomInvert(read_layer_options<RandomInvertOptions>(config));
}

}  // namespace cornu::layers
