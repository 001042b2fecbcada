// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct CenterCropOptions {
  int64_t height = 0;                                   // required
  int64_t width = 0;                                    // required
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.CenterCrop: crops the center of images. If an image is smaller in one direction,
// resizes its largest centered part with the aspect ratio of (height, width). Accepts (height,
// width, channels) or (batch, height, width, channels) of any dtype, and returns floats.
class CenterCrop final : public LayerHandle {
 public:
  explicit CenterCrop(const CenterCropOptions& options);
  static CenterCrop from_config(const Json& config);
};

}  // namespace cornu::layers
