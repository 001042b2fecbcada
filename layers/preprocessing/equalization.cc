// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/equalization.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, EqualizationOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("bins", options.bins);
  fields("value_range", options.value_range);
}

namespace {

class EqualizationLayer : public ImageLayer<EqualizationOptions> {
 public:
  explicit EqualizationLayer(const EqualizationOptions& options)
      : ImageLayerOf("Equalization", options) {
    require(options.bins > 1 && options.bins <= kMaxBins, "expected bins in [2, {}], got {}.",
            kMaxBins, options.bins);
    range_ = checked_range(options_.value_range);
  }

  bool training_by_default() const override { return true; }

 protected:
  Tensor changed(const Tensor& images, const CallArgs& args) override {
    return args.training ? equalize(images, options_.bins, range_) : images;
  }

 private:
  static constexpr int64_t kMaxBins = 1 << 16;
  Bounds range_;
};

}  // namespace

Equalization::Equalization(const EqualizationOptions& options)
    : LayerHandle(std::make_shared<EqualizationLayer>(options)) {}

Equalization Equalization::from_config(const Json& config) {
  return Equalization(read_layer_options<EqualizationOptions>(config));
}

}  // namespace cornu::layers
