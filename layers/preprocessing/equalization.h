// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct EqualizationOptions {
  NumberList value_range = {0.0, 255.0};                // the range of pixel values
  int64_t bins = 256;                                   // histogram bins
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Equalization: equalizes the histograms of channels, in training and when the
// training flag isn't set. As in Keras, a batch has one histogram per channel: to equalize each
// image separately, map over single images. Images are as described in random_rotation.h.
class Equalization final : public LayerHandle {
 public:
  explicit Equalization(const EqualizationOptions& options = {});
  static Equalization from_config(const Json& config);
};

}  // namespace cornu::layers
