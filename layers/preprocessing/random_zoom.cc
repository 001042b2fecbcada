// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/random_zoom.h"

#include "layers/preprocessing/affine_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RandomZoomOptions& options) {
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

class RandomZoomLayer : public AffineLayer<RandomZoomOptions> {
 public:
  explicit RandomZoomLayer(const RandomZoomOptions& options)
      : AffineLayer("RandomZoom", options),
        height_(checked("height_factor", options.height_factor)) {
    if (options.width_factor.given()) width_ = checked("width_factor", options.width_factor);
  }

 protected:
  Tensor transforms(const Tensor& images) override {
    const Tensor height = draw(images, {1 + height_.lower, 1 + height_.upper});
    const Tensor width = width_ ? draw(images, {1 + width_->lower, 1 + width_->upper}) : height;
    return zooms(height, width, images.dim(1), images.dim(2));
  }

 private:
  Bounds checked(const char* what, const NumberList& factor) const {
    const Bounds bounds = bounds_of(what, factor, -1, 1);
    const auto& given = factor.values();
    require(std::count(given.begin(), given.end(), -1) == 0,
            "expected {} above -1, where nothing is seen, got {}.", what, factor.to_json().dump());
    return bounds;
  }

  Bounds height_;
  std::optional<Bounds> width_;
};

}  // namespace

RandomZoom::RandomZoom(const RandomZoomOptions& options)
    : LayerHandle(std::make_shared<RandomZoomLayer>(options)) {}

RandomZoom RandomZoom::from_config(const Json& config) {
  return RandomZoom(read_layer_options<RandomZoomOptions>(config));
}

}  // namespace cornu::layers
