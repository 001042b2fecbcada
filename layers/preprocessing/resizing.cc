// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/resizing.h"

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ResizingOptions& options) {
  fields("data_format", options.data_format);
  fields("height", options.height);
  fields("width", options.width);
  fields("interpolation", options.interpolation);
  fields("crop_to_aspect_ratio", options.crop_to_aspect_ratio);
  fields("pad_to_aspect_ratio", options.pad_to_aspect_ratio);
  fields("fill_mode", options.fill_mode);
  fields("fill_value", options.fill_value);
  fields("antialias", options.antialias);
}

namespace {

class ResizingLayer : public ImageLayer<ResizingOptions> {
 public:
  explicit ResizingLayer(const ResizingOptions& options) : ImageLayerOf("Resizing", options) {
    require_size(options.height, options.width);
    require_one_of("interpolation", options.interpolation,
                   {"bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"});
    require_one_of("fill_mode", options.fill_mode, {"constant"});
    require(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
            "expected at most one of crop_to_aspect_ratio and pad_to_aspect_ratio.");
  }

 protected:
  Tensor changed(const Tensor& images, const CallArgs&) override {
    return ops::image::resize(images, {options_.height, options_.width},
                              {.interpolation = options_.interpolation,
                               .antialias = options_.antialias,
                               .crop_to_aspect_ratio = options_.crop_to_aspect_ratio,
                               .pad_to_aspect_ratio = options_.pad_to_aspect_ratio,
                               .fill_value = options_.fill_value});
  }
  DType working_dtype(DType dtype) const override {
    return options_.interpolation == "nearest" ? dtype : compute_dtype();
  }
  Tensor finished(const Tensor& result, const Tensor& x) const override {
    if (result.dtype() == x.dtype()) return result;
    const bool whole = !is_floating(x.dtype());
    return ops::saturate_cast(whole ? ops::round(result) : result, x.dtype());
  }
};

}  // namespace

Resizing::Resizing(const ResizingOptions& options)
    : LayerHandle(std::make_shared<ResizingLayer>(options)) {}

Resizing Resizing::from_config(const Json& config) {
  return Resizing(read_layer_options<ResizingOptions>(config));
}

}  // namespace cornu::layers
