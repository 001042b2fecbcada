// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_rotation.h"

#include "layers/preprocessing/affine_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomRotationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("fill_mode", options.fill_mode);
  fields("fill_value", options.fill_value);
  fields("interpolation", options.interpolation);
  fields("seed", options.seed);
}

namespace {

class RandomRotationLayer : public AffineLayer<RandomRotationOptions> {
 public:
  explicit RandomRotationLayer(const RandomRotationOptions& options)
      : AffineLayer("RandomRotation", options),
        bounds_(bounds_of("factor", options.factor, -1, 1)) {
    options_.factor = {bounds_.lower, bounds_.upper};
  }

 protected:
  Tensor transforms(const Tensor& images) override {
    const Tensor angle = draw(images, {360 * bounds_.lower, 360 * bounds_.upper});
    return rotations(angle, images.dim(1), images.dim(2));
  }

 private:
  Bounds bounds_;
};

}  // namespace

RandomRotation::RandomRotation(const RandomRotationOptions& options)
    : LayerHandle(std::make_shared<RandomRotationLayer>(options)) {}

RandomRotation RandomRotation::from_config(const Json& config) {
  return RandomRotation(read_layer_options<RandomRotationOptions>(config));
}

}  // namespace cornu::layers
