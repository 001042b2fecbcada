// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_elastic_transform.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomElasticTransformOptions& options) {
  fields("data_format", options.data_format);
  fields("factor", options.factor);
  fields("scale", options.scale);
  fields("interpolation", options.interpolation);
  fields("fill_mode", options.fill_mode);
  fields("fill_value", options.fill_value);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomElasticTransformLayer : public RandomImageLayer<RandomElasticTransformOptions> {
 public:
  explicit RandomElasticTransformLayer(const RandomElasticTransformOptions& options)
      : RandomImageLayer("RandomElasticTransform", options),
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
  Tensor augmented(const Tensor& images) override {
    if (bounds_.upper == 0 || scale_.upper == 0) return images;
    const Tensor moved = chance(images, bounds_);
    const Tensor drawn = ops::internal::shared_uniform(next_key(), {});
    const Shape pixels = images.shape().slice(0, 3);
    const Tensor right = random::normal(pixels, {.seed = next_key()});
    const Tensor down = random::normal(pixels, {.seed = next_key()});
    const Tensor distorted =
        distort(images, right, down, drawn * (scale_.upper - scale_.lower) + scale_.lower,
                {.largest = scale_.upper,
                 .interpolation = options_.interpolation,
                 .fill_mode = options_.fill_mode,
                 .fill_value = options_.fill_value});
    return ops::clip(ops::where(moved, distorted, images), range_.lower, range_.upper);
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
