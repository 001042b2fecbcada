// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/center_crop.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, CenterCropOptions& options) {
  fields("data_format", options.data_format);
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
  Tensor changed(const Tensor& images, const CallArgs&) override {
    const int64_t height = options_.height;
    const int64_t width = options_.width;
    const int64_t rows = images.dim(1) - height;
    const int64_t columns = images.dim(2) - width;
    if (rows < 0 || columns < 0) return crop_and_resize(images, {height, width});
    const Tensor middle = ops::slice_axis(images, 1, rows / 2, rows / 2 + height);
    return ops::slice_axis(middle, 2, columns / 2, columns / 2 + width);
  }
};

}  // namespace

CenterCrop::CenterCrop(const CenterCropOptions& options)
    : LayerHandle(std::make_shared<CenterCropLayer>(options)) {}

CenterCrop CenterCrop::from_config(const Json& config) {
  return CenterCrop(read_layer_options<CenterCropOptions>(config));
}

}  // namespace cornu::layers
