// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ResizingOptions {
  int64_t height = 0;                      // required
  int64_t width = 0;                       // required
  std::string interpolation = "bilinear";  // as in ops::image::ResizeOptions
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  std::string fill_mode = "constant";  // the only supported mode
  double fill_value = 0.0;
  bool antialias = false;
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Resizing: ops::image::resize. Accepts (height, width, channels) or (batch, height,
// width, channels); integers are rounded to preserve the dtype.
class Resizing final : public LayerHandle {
 public:
  explicit Resizing(const ResizingOptions& options);
  static Resizing from_config(const Json& config);
};

}  // namespace cornu::layers
