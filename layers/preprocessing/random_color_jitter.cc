// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_color_jitter.h"

#include <optional>

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomColorJitterOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("value_range", options.value_range);
  fields("brightness_factor", options.brightness_factor);
  fields("contrast_factor", options.contrast_factor);
  fields("saturation_factor", options.saturation_factor);
  fields("hue_factor", options.hue_factor);
  fields("seed", options.seed);
}

namespace {

class RandomColorJitterLayer : public RandomImageLayer<RandomColorJitterOptions> {
 public:
  explicit RandomColorJitterLayer(const RandomColorJitterOptions& options)
      : RandomImageLayer("RandomColorJitter", options) {
    range_ = checked_range(options_.value_range);
    const auto bounds = [&](const char* what, const NumberList& factor, double low) {
      return factor.given() ? std::optional(bounds_of(what, factor, low, 1)) : std::nullopt;
    };
    brightness_ = bounds("brightness_factor", options.brightness_factor, -1);
    contrast_ = bounds("contrast_factor", options.contrast_factor, 0);
    saturation_ = bounds("saturation_factor", options.saturation_factor, -1);
    hue_ = bounds("hue_factor", options.hue_factor, 0);
  }

 protected:
  void check_input(const Shape& shape) const override {
    RandomImageLayer::check_input(shape);
    if (saturation_ || hue_) require_rgb(shape);
  }

  Tensor augmented(const Tensor& images) override {
    Tensor result = images;
    if (brightness_) {
      const Tensor delta = draw(images, *brightness_) * (range_.upper - range_.lower);
      result = adjust_brightness(result, delta, range_.lower, range_.upper);
    }
    if (contrast_) {
      const Tensor factor = draw(images, {1 - contrast_->lower, 1 + contrast_->upper});
      result = adjust_contrast(result, factor, range_.lower, range_.upper);
    }
    if (saturation_) {
      result = adjust_saturation(result, saturation_factors(draw(images, *saturation_)), range_);
    }
    if (hue_) {
      const Tensor sign = ops::where(draw(images, {0, 1}) > 0.5, -1.0, 1.0);
      result = adjust_hue(result, sign * draw(images, *hue_) * 0.5, range_);
    }
    return result;
  }

 private:
  Bounds range_;
  std::optional<Bounds> brightness_, contrast_, saturation_, hue_;
};

}  // namespace

RandomColorJitter::RandomColorJitter(const RandomColorJitterOptions& options)
    : LayerHandle(std::make_shared<RandomColorJitterLayer>(options)) {}

RandomColorJitter RandomColorJitter::from_config(const Json& config) {
  return RandomColorJitter(read_layer_options<RandomColorJitterOptions>(config));
}

}  // namespace cornu::layers
