// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_perspective.h"

#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomPerspectiveOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("scale", options.scale);
  fields("interpolation", options.interpolation);
  fields("fill_value", options.fill_value);
  fields("seed", options.seed);
}

namespace {

class RandomPerspectiveLayer : public RandomMovingLayer<RandomPerspectiveOptions> {
 public:
  explicit RandomPerspectiveLayer(const RandomPerspectiveOptions& options)
      : RandomMovingLayer("RandomPerspective", options),
        bounds_(bounds_of("factor", options.factor, 0, 1)) {
    require(options.scale >= 0 && options.scale <= 1, "expected scale in [0, 1], got {}.",
            options.scale);
    require_one_of("interpolation", options.interpolation, {"nearest", "bilinear"});
    options_.factor = {bounds_.lower, bounds_.upper};
  }

 protected:
  Change movement(const Tensor& images) override {
    const Tensor moved = chance(images, bounds_);
    const auto right = static_cast<float>(images.dim(2) - 1);
    const auto bottom = static_cast<float>(images.dim(1) - 1);
    const Tensor corners = ops::broadcast_to(
        Tensor::from<float>({0, 0, right, 0, 0, bottom, right, bottom}, {1, 4, 2}),
        {images.dim(0), 4, 2});
    const double most = options_.scale / 2;
    const Tensor moves = random::uniform({images.dim(0), 4, 2},
                                         {.minval = -most, .maxval = most, .seed = next_key()});
    const Tensor transforms = ops::internal::perspectives(corners, corners + corners * moves);
    const double fill_value = options_.fill_value;
    const auto move = [=](const Tensor& pixels, const std::string& interpolation) {
      const Tensor seen = ops::image::affine_transform(
          pixels, transforms, {.interpolation = interpolation, .fill_value = fill_value});
      return ops::where(moved, seen, pixels);
    };
    const auto move_boxes = [=](const Tensor& boxes) {
      return ops::where(ops::squeeze(moved, 3), transform_boxes(boxes, transforms), boxes);
    };
    return moving(move, options_.interpolation, move_boxes, {images.dim(1), images.dim(2)});
  }

 private:
  Bounds bounds_;
};

}  // namespace

RandomPerspective::RandomPerspective(const RandomPerspectiveOptions& options)
    : LayerHandle(std::make_shared<RandomPerspectiveLayer>(options)) {}

RandomPerspective RandomPerspective::from_config(const Json& config) {
  return RandomPerspective(read_layer_options<RandomPerspectiveOptions>(config));
}

}  // namespace cornu::layers
