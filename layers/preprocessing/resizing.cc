// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/resizing.h"

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
    const auto move = [this](const Tensor& pixels, const std::string& interpolation) {
      return resized(pixels, interpolation);
    };
    const auto move_boxes = [=, this](const Tensor& boxes) { return scaled(boxes, from); };
    Change change =
        moving(move, options_.interpolation, move_boxes, {options_.height, options_.width});
    change.zero_padding = true;
    return change;
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

  Tensor scaled(const Tensor& boxes, ImageSize from) const {
    const int64_t height = options_.height, width = options_.width;
    const auto ratio = [](int64_t to, int64_t of) {
      return static_cast<double>(to) / static_cast<double>(of);
    };
    const double down = ratio(height, from.first), right = ratio(width, from.second);
    const bool crops = options_.crop_to_aspect_ratio;
    if (!crops && !options_.pad_to_aspect_ratio) return scale_boxes(boxes, {right, down}, {0, 0});
    // One of the ratios holds for both axes. Half of what the other axis has too much or lacks is
    // at its beginning, in whole pixels.
    const int64_t lacking = width * from.first - height * from.second;
    if ((lacking < 0) == crops) {
      return scale_boxes(boxes, {down, down}, {static_cast<double>(lacking / (2 * from.first)), 0});
    }
    return scale_boxes(boxes, {right, right},
                       {0, static_cast<double>(-lacking / (2 * from.second))});
  }
};

}  // namespace

Resizing::Resizing(const ResizingOptions& options)
    : LayerHandle(std::make_shared<ResizingLayer>(options)) {}

Resizing Resizing::from_config(const Json& config) {
  return Resizing(read_layer_options<ResizingOptions>(config));
}

}  // namespace cornu::layers
