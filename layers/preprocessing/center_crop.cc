// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/center_crop.h"

#include "layers/preprocessing/image_crops.h"
#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, CenterCropOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
  fields("height", options.height);
  fields("width", options.width);
}

namespace {

class CenterCropLayer : public ImageLayer<CenterCropOptions> {
 public:
  explicit CenterCropLayer(const CenterCropOptions& options) : ImageLayerOf("CenterCrop", options) {
    require_size(options.height, options.width);
  }

 protected:
  Tensor changed(const Tensor& images, const CallArgs& args) override {
    return change(images, args).images(images);
  }
  Change change(const Tensor& images, const CallArgs&) override {
    return center_crop({images.dim(1), images.dim(2)}, {options_.height, options_.width});
  }
};

}  // namespace

CenterCrop::CenterCrop(const CenterCropOptions& options)
    : LayerHandle(std::make_shared<CenterCropLayer>(options)) {}

CenterCrop CenterCrop::from_config(const Json& config) {
  return CenterCrop(read_layer_options<CenterCropOptions>(config));
}

}  // namespace cornu::layers
