// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_invert.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomInvertOptions& options) {
  visit_factor_fields(fields, options);
}

namespace {

class RandomInvertLayer : public RandomFactorLayer<RandomInvertOptions> {
 public:
  explicit RandomInvertLayer(const RandomInvertOptions& options)
      : RandomFactorLayer("RandomInvert", options, 0, 1) {}

 protected:
  Tensor augmented(const Tensor& images) override {
    return ops::where(chance(images, factor()), range().upper - images, images);
  }
};

}  // namespace

RandomInvert::RandomInvert(const RandomInvertOptions& options)
    : LayerHandle(std::make_shared<RandomInvertLayer>(options)) {}

RandomInvert RandomInvert::from_config(const Json& config) {
  return RandomInvert(read_layer_options<RandomInvertOptions>(config));
}

}  // namespace cornu::layers
