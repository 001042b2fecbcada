// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_grayscale.h"

#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomGrayscaleOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
}

namespace {

class RandomGrayscaleLayer : public RandomImageLayer<RandomGrayscaleOptions> {
 public:
  explicit RandomGrayscaleLayer(const RandomGrayscaleOptions& options)
      : RandomImageLayer("RandomGrayscale", options) {
    require(options.factor >= 0 && options.factor <= 1, "expected factor in [0, 1], got {}.",
            options.factor);
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomImageLayer::check_input(shape);
    require_rgb(shape, true);
  }

  Tensor augmented(const Tensor& images) override {
    const Tensor gray = ops::broadcast_to(ops::image::rgb_to_grayscale(images), images.shape());
    return ops::where(chance(images, {options_.factor, options_.factor}), gray, images);
  }
};

}  // namespace

RandomGrayscale::RandomGrayscale(const RandomGrayscaleOptions& options)
    : LayerHandle(std::make_shared<RandomGrayscaleLayer>(options)) {}

RandomGrayscale RandomGrayscale::from_config(const Json& config) {
  return RandomGrayscale(read_layer_options<RandomGrayscaleOptions>(config));
}

}  // namespace cornu::layers
