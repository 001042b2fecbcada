// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/resizing.h"

#include <algorithm>
#include <cmath>

#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ResizingOptions& options) {
  fields("data_format", options.data_format);
  visit_box_format(fields, options);
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
    return resized(images, options_.interpolation);
  }
  Change change(const Tensor& images, const CallArgs&) override {
    const ImageSize from = {images.dim(1), images.dim(2)};
    return moving(
        [this](const Tensor& pixels, const std::string& interpolation) {
          return resized(pixels, interpolation);
        },
        options_.interpolation, [=, this](const Tensor& boxes) { return moved(boxes, from); },
        {options_.height, options_.width});
  }
  DType working_dtype(DType dtype) const override {
    return options_.interpolation == "nearest" ? dtype : compute_dtype();
  }
  Tensor finished(const Tensor& result, const Tensor& x) const override {
    if (result.dtype() == x.dtype()) return result;
    const bool whole = !is_floating(x.dtype());
    return ops::saturate_cast(whole ? ops::round(result) : result, x.dtype());
  }

 private:
  Tensor resized(const Tensor& images, const std::string& interpolation) const {
    return ops::image::resize(images, {options_.height, options_.width},
                              {.interpolation = interpolation,
                               .antialias = options_.antialias,
                               .crop_to_aspect_ratio = options_.crop_to_aspect_ratio,
                               .pad_to_aspect_ratio = options_.pad_to_aspect_ratio,
                               .fill_value = options_.fill_value});
  }

  // Boxes of zeros, or of -1, are padding, and become zeros.
  Tensor moved(const Tensor& boxes, ImageSize from) const {
    const Tensor padding =
        ops::logical_or(ops::all(boxes == 0, -1, true), ops::all(boxes == -1, -1, true));
    return ops::where(padding, 0, scaled(boxes, from));
  }

  Tensor scaled(const Tensor& boxes, ImageSize from) const {
    const auto height = static_cast<double>(options_.height);
    const auto width = static_cast<double>(options_.width);
    double down = height / static_cast<double>(from.first);
    double right = width / static_cast<double>(from.second);
    if (options_.pad_to_aspect_ratio) down = right = std::min(down, right);
    if (options_.crop_to_aspect_ratio) down = right = std::max(down, right);
    // Of what is cropped or padded, half is at the top or left.
    const double y = height - static_cast<double>(from.first) * down;
    const double x = width - static_cast<double>(from.second) * right;
    return scale_boxes(boxes, {right, down}, {std::trunc(x / 2), std::trunc(y / 2)});
  }
};

}  // namespace

Resizing::Resizing(const ResizingOptions& options)
    : LayerHandle(std::make_shared<ResizingLayer>(options)) {}

Resizing Resizing::from_config(const Json& config) {
  return Resizing(read_layer_options<ResizingOptions>(config));
}

}  // namespace cornu::layers
