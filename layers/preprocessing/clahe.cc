// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/clahe.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_tiles.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ContrastLimitedAdaptiveHistogramEqualizationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("value_range", options.value_range);
  fields("clip_limit", options.clip_limit);
  fields("tile_grid_size", options.tile_grid_size);
}

namespace {

class ContrastLimitedAdaptiveHistogramEqualizationLayer
    : public ImageLayer<ContrastLimitedAdaptiveHistogramEqualizationOptions> {
 public:
  explicit ContrastLimitedAdaptiveHistogramEqualizationLayer(
      const ContrastLimitedAdaptiveHistogramEqualizationOptions& options)
      : ImageLayerOf("ContrastLimitedAdaptiveHistogramEqualization", options) {
    const int64_t down = options.tile_grid_size[0], across = options.tile_grid_size[1];
    require(down > 0 && down <= kMaxTiles && across > 0 && across <= kMaxTiles,
            "expected tile_grid_size within [1, {}], got {} and {}.", kMaxTiles, down, across);
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor changed(const Tensor& images, const CallArgs&) override {
    return equalize_tiles(images, {options_.tile_grid_size[0], options_.tile_grid_size[1]},
                          options_.clip_limit, range_);
  }
  Tensor finished(const Tensor& result, const Tensor& x) const override {
    return is_floating(x.dtype()) ? result : ops::saturate_cast(result, x.dtype());
  }

 private:
  static constexpr int64_t kMaxTiles = 256;
  Bounds range_;
};

}  // namespace

ContrastLimitedAdaptiveHistogramEqualization::ContrastLimitedAdaptiveHistogramEqualization(
    const ContrastLimitedAdaptiveHistogramEqualizationOptions& options)
    : LayerHandle(std::make_shared<ContrastLimitedAdaptiveHistogramEqualizationLayer>(options)) {}

ContrastLimitedAdaptiveHistogramEqualization
ContrastLimitedAdaptiveHistogramEqualization::from_config(const Json& config) {
  return ContrastLimitedAdaptiveHistogramEqualization(
      read_layer_options<ContrastLimitedAdaptiveHistogramEqualizationOptions>(config));
}

}  // namespace cornu::layers
