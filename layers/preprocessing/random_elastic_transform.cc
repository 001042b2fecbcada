// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_elastic_transform.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomElasticTransformOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("scale", options.scale);
  fields("interpolation", options.interpolation);
  fields("fill_mode", options.fill_mode);
  fields("fill_value", options.fill_value);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomElasticTransformLayer : public RandomMovingLayer<RandomElasticTransformOptions> {
 public:
  explicit RandomElasticTransformLayer(const RandomElasticTransformOptions& options)
      : RandomMovingLayer("RandomElasticTransform", options),
        bounds_(bounds_of("factor", options.factor, 0, 1)),
        scale_(bounds_of("scale", options.scale, 0, 1)) {
    require_one_of("interpolation", options.interpolation, {"nearest", "bilinear"});
    require_one_of("fill_mode", options.fill_mode,
                   {"constant", "nearest", "wrap", "mirror", "reflect"});
    options_.factor = {bounds_.lower, bounds_.upper};
    options_.scale = {scale_.lower, scale_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  Change movement(const Tensor& images) override {
    const auto no_boxes = [this](const BoundingBoxes&) -> BoundingBoxes {
      raise<Unimplemented>(
          "{}: bounding boxes don't move with pixels that each move differently. Remove '{}' from "
          "the dictionary.",
          label(), kBoxes);
    };
    if (bounds_.upper == 0 || scale_.upper == 0) {
      return {.images = [](const Tensor& same) { return same; }};
    }
    const Tensor moved = chance(images, bounds_);
    const Tensor drawn = ops::internal::shared_uniform(next_key(), {});
    const Shape pixels = images.shape().slice(0, 3);
    const Tensor right = random::normal(pixels, {.seed = next_key()});
    const Tensor down = random::normal(pixels, {.seed = next_key()});
    const Tensor scale = drawn * (scale_.upper - scale_.lower) + scale_.lower;
    const auto distorted = [=, this](const Tensor& pixels, const std::string& interpolation) {
      const Tensor seen = distort(pixels, right, down, scale,
                                  {.largest = scale_.upper,
                                   .interpolation = interpolation,
                                   .fill_mode = options_.fill_mode,
                                   .fill_value = options_.fill_value});
      return ops::where(moved, seen, pixels);
    };
    return {
        .images =
            [=, this](const Tensor& pixels) {
              return ops::clip(distorted(pixels, options_.interpolation), range_.lower,
                               range_.upper);
            },
        .masks =
            [=](const Tensor& masks) {
              const Tensor floats = ops::cast(masks, DType::Float32);
              return ops::cast(distorted(floats, "nearest"), masks.dtype());
            },
        .boxes = no_boxes,
    };
  }

 private:
  Bounds bounds_;
  Bounds scale_;
  Bounds range_;
};

}  // namespace

RandomElasticTransform::RandomElasticTransform(const RandomElasticTransformOptions& options)
    : LayerHandle(std::make_shared<RandomElasticTransformLayer>(options)) {}

RandomElasticTransform RandomElasticTransform::from_config(const Json& config) {
  return RandomElasticTransform(read_layer_options<RandomElasticTransformOptions>(config));
}

}  // namespace cornu::layers
