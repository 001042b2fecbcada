// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomColorJitterOptions {
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  // As the factors of RandomBrightness, RandomContrast, RandomSaturation and RandomHue; None: no
  // change of this kind.
  NumberList brightness_factor = {};
  NumberList contrast_factor = {};
  NumberList saturation_factor = {};
  NumberList hue_factor = {};
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string data_format = {};      // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomColorJitter: changes brightness, contrast, saturation and hue, in this order.
// Images are as described in random_rotation.h, with red, green and blue channels if the last two
// factors are given.
class RandomColorJitter final : public LayerHandle {
 public:
  explicit RandomColorJitter(const RandomColorJitterOptions& options = {});
  static RandomColorJitter from_config(const Json& config);
};

}  // namespace cornu::layers
