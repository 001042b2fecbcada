// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomBrightnessOptions {
  // Required, in [-1, 1]: the bounds of the offset, as fractions of value_range; a single number f
  // means [-f, f].
  NumberList factor = {};
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  std::optional<int64_t> seed = {};       // None: the next seed of this thread's sequence
  std::string data_format = {};           // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomBrightness: adds a number to all values, clipping to value_range. Images are
// as described in random_rotation.h.
class RandomBrightness final : public LayerHandle {
 public:
  explicit RandomBrightness(const RandomBrightnessOptions& options);
  static RandomBrightness from_config(const Json& config);
};

}  // namespace cornu::layers
