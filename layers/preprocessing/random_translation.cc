// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_translation.h"

#include "layers/preprocessing/affine_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomTranslationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("height_factor", options.height_factor);
  fields("width_factor", options.width_factor);
  fields("fill_mode", options.fill_mode);
  fields("interpolation", options.interpolation);
  fields("seed", options.seed);
  fields("fill_value", options.fill_value);
}

namespace {

class RandomTranslationLayer : public AffineLayer<RandomTranslationOptions> {
 public:
  explicit RandomTranslationLayer(const RandomTranslationOptions& options)
      : AffineLayer("RandomTranslation", options),
        height_(bounds_of("height_factor", options.height_factor, -1, 1)),
        width_(bounds_of("width_factor", options.width_factor, -1, 1)) {}

 protected:
  Tensor transforms(const Tensor& images) override {
    const Tensor down = draw(images, height_) * images.dim(1);
    const Tensor right = draw(images, width_) * images.dim(2);
    return translations(down, right);
  }

 private:
  Bounds height_;
  Bounds width_;
};

}  // namespace

RandomTranslation::RandomTranslation(const RandomTranslationOptions& options)
    : LayerHandle(std::make_shared<RandomTranslationLayer>(options)) {}

RandomTranslation RandomTranslation::from_config(const Json& config) {
  return RandomTranslation(read_layer_options<RandomTranslationOptions>(config));
}

}  // namespace cornu::layers
