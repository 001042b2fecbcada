// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct AutoContrastOptions {
  NumberList value_range = {0.0, 255.0};                // the range of pixel values
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.AutoContrast: stretches each channel of each image to the full value_range, also
// outside training; a constant channel is unchanged. Images are as described in random_rotation.h.
class AutoContrast final : public LayerHandle {
 public:
  explicit AutoContrast(const AutoContrastOptions& options = {});
  static AutoContrast from_config(const Json& config);
};

}  // namespace cornu::layers
