// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_flip.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomFlipOptions& options) {
  fields("data_format", options.data_format);
  fields("seed", options.seed);
  fields("mode", options.mode);
}

namespace {

class RandomFlipLayer : public RandomImageLayer<RandomFlipOptions> {
 public:
  explicit RandomFlipLayer(const RandomFlipOptions& options)
      : RandomImageLayer("RandomFlip", options) {
    require_one_of("mode", options.mode, {"horizontal", "vertical", "horizontal_and_vertical"});
  }

 protected:
  Tensor augmented(const Tensor& images) override {
    return flip_images(images, draw(images, {0, 1}) <= 0.5, options_.mode != "vertical",
                       options_.mode != "horizontal");
  }
};

}  // namespace

RandomFlip::RandomFlip(const RandomFlipOptions& options)
    : LayerHandle(std::make_shared<RandomFlipLayer>(options)) {}

RandomFlip RandomFlip::from_config(const Json& config) {
  return RandomFlip(read_layer_options<RandomFlipOptions>(config));
}

}  // namespace cornu::layers
