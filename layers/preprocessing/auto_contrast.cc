// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/auto_contrast.h"

#include "layers/preprocessing/image_colors.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, AutoContrastOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("value_range", options.value_range);
}

namespace {

class AutoContrastLayer : public ImageLayer<AutoContrastOptions> {
 public:
  explicit AutoContrastLayer(const AutoContrastOptions& options)
      : ImageLayerOf("AutoContrast", options) {
    range_ = checked_range(options_.value_range);
  }

 protected:
  Tensor changed(const Tensor& images, const CallArgs&) override {
    return stretch_contrast(images, range_);
  }

 private:
  Bounds range_;
};

}  // namespace

AutoContrast::AutoContrast(const AutoContrastOptions& options)
    : LayerHandle(std::make_shared<AutoContrastLayer>(options)) {}

AutoContrast AutoContrast::from_config(const Json& config) {
  return AutoContrast(read_layer_options<AutoContrastOptions>(config));
}

}  // namespace cornu::layers
