// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_erasing.h"

#include <cmath>

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomErasingOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("factor", options.factor);
  fields("scale", options.scale);
  fields("fill_value", options.fill_value);
  fields("value_range", options.value_range);
  fields("seed", options.seed);
}

namespace {

class RandomErasingLayer : public RandomImageLayer<RandomErasingOptions> {
 public:
  explicit RandomErasingLayer(const RandomErasingOptions& options)
      : RandomImageLayer("RandomErasing", options),
        bounds_(bounds_of("factor", options.factor, 0, 1)),
        scale_(bounds_of("scale", options.scale, 0, 1)) {
    const size_t numbers = options.fill_value.values().size();
    require(!options.fill_value.given() || numbers == (options.fill_value.is_one() ? 1 : 3),
            "expected fill_value to be a number, or three of them, got {}.",
            options.fill_value.to_json().dump());
    options_.scale = {scale_.lower, scale_.upper};
    options_.factor = {bounds_.lower, bounds_.upper};
    range_ = checked_range(options_.value_range);
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomImageLayer::check_input(shape);
    if (options_.fill_value.values().size() == 3) require_rgb(shape);
  }

  Tensor augmented(const Tensor& images) override {
    const Tensor height = ops::sqrt(draw(images, scale_));
    const Tensor width = ops::sqrt(draw(images, scale_));
    const Tensor top = draw(images, {0, 1});
    const Tensor left = draw(images, {0, 1});
    const Tensor part = inside({top, left, height, width}, images);
    const Tensor erased = ops::logical_and(chance(images, bounds_), part);
    return ops::where(erased, filling(images), images);
  }

 private:
  Tensor filling(const Tensor& images) const {
    const NumberList& given = options_.fill_value;
    const Tensor fill =
        given.given() ? Tensor::from(given.values())
                      : random::normal(images.shape(),
                                       {.stddev = std::abs(range_.upper), .seed = next_key()});
    return ops::cast(ops::clip(fill, range_.lower, range_.upper), images.dtype());
  }

  Bounds bounds_;
  Bounds scale_;
  Bounds range_;
};

}  // namespace

RandomErasing::RandomErasing(const RandomErasingOptions& options)
    : LayerHandle(std::make_shared<RandomErasingLayer>(options)) {}

RandomErasing RandomErasing::from_config(const Json& config) {
  return RandomErasing(read_layer_options<RandomErasingOptions>(config));
}

}  // namespace cornu::layers
