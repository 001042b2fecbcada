// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_shear.h"

#include "layers/preprocessing/affine_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomShearOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("x_factor", options.x_factor);
  fields("y_factor", options.y_factor);
  fields("fill_mode", options.fill_mode);
  fields("interpolation", options.interpolation);
  fields("seed", options.seed);
  fields("fill_value", options.fill_value);
}

namespace {

class RandomShearLayer : public AffineLayer<RandomShearOptions> {
 public:
  explicit RandomShearLayer(const RandomShearOptions& options)
      : AffineLayer("RandomShear", options),
        x_(bounds_of("x_factor", options.x_factor, -1, 1)),
        y_(bounds_of("y_factor", options.y_factor, -1, 1)) {
    options_.x_factor = {x_.lower, x_.upper};
    options_.y_factor = {y_.lower, y_.upper};
  }

 protected:
  Tensor transforms(const Tensor& images) override {
    const Tensor sign = ops::where(draw(images, {0, 1}) > 0.5, -1.0, 1.0);
    const Tensor y = draw(images, y_);
    return shears(sign * draw(images, x_), sign * y);
  }

 private:
  Bounds x_;
  Bounds y_;
};

}  // namespace

RandomShear::RandomShear(const RandomShearOptions& options)
    : LayerHandle(std::make_shared<RandomShearLayer>(options)) {}

RandomShear RandomShear::from_config(const Json& config) {
  return RandomShear(read_layer_options<RandomShearOptions>(config));
}

}  // namespace cornu::layers
