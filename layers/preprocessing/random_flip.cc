// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_flip.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomFlipOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("seed", options.seed);
  fields("mode", options.mode);
}

namespace {

class RandomFlipLayer : public RandomMovingLayer<RandomFlipOptions> {
 public:
  explicit RandomFlipLayer(const RandomFlipOptions& options)
      : RandomMovingLayer("RandomFlip", options) {
    require_one_of("mode", options.mode, {"horizontal", "vertical", "horizontal_and_vertical"});
  }

 protected:
  Change movement(const Tensor& images) override {
    const Tensor flips = draw(images, {0, 1}) <= 0.5;
    const bool horizontally = options_.mode != "vertical";
    const bool vertically = options_.mode != "horizontal";
    const ImageSize size = {images.dim(1), images.dim(2)};
    const auto move = [=](const Tensor& pixels, const std::string&) {
      return flip_images(pixels, flips, horizontally, vertically);
    };
    const auto move_boxes = [=](const Tensor& boxes) {
      return flip_boxes(boxes, flips, horizontally, vertically, size);
    };
    return moving(move, "", move_boxes, size);
  }
};

}  // namespace

RandomFlip::RandomFlip(const RandomFlipOptions& options)
    : LayerHandle(std::make_shared<RandomFlipLayer>(options)) {}

RandomFlip RandomFlip::from_config(const Json& config) {
  return RandomFlip(read_layer_options<RandomFlipOptions>(config));
}

}  // namespace cornu::layers
