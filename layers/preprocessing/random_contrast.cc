// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_contrast.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomContrastOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomContrastLayer : public RandomImageLayer<RandomContrastOptions> {
 public:
  explicit RandomContrastLayer(const RandomContrastOptions& options)
      : RandomImageLayer("RandomContrast", options),
        bounds_(bounds_of("factor", options.factor, 0, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    const Tensor factor = draw(images, {1 - bounds_.lower, 1 + bounds_.upper});
    return adjust_contrast(images, factor, range_.lower, range_.upper);
  }

 private:
  Bounds bounds_;
  Bounds range_;
};

}  // namespace

RandomContrast::RandomContrast(const RandomContrastOptions& options)
    : LayerHandle(std::make_shared<RandomContrastLayer>(options)) {}

RandomContrast RandomContrast::from_config(const Json& config) {
  return RandomContrast(read_layer_options<RandomContrastOptions>(config));
}

}  // namespace cornu::layers
