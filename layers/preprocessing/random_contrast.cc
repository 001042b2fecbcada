// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_contrast.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomContrastOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomContrastLayer : public RandomFactorLayer<RandomContrastOptions> {
 public:
  explicit RandomContrastLayer(const RandomContrastOptions& options)
      : RandomFactorLayer("RandomContrast", options, 0, 1) {}

 protected:
  Tensor augmented(const Tensor& images) override {
    const Tensor factors = draw(images, {1 - factor().lower, 1 + factor().upper});
    return adjust_contrast(images, factors, range().lower, range().upper);
  }
};

}  // namespace

RandomContrast::RandomContrast(const RandomContrastOptions& options)
    : LayerHandle(std::make_shared<RandomContrastLayer>(options)) {}

RandomContrast RandomContrast::from_config(const Json& config) {
  return RandomContrast(read_layer_options<RandomContrastOptions>(config));
}

}  // namespace cornu::layers
