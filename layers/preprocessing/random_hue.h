// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomHueOptions {
  // Required, in [0, 1]: the bounds of the hue rotation in either direction, as fractions of half a
  // circle; a single number is the upper bound.
  NumberList factor = {};
  NumberList value_range = {0.0, 255.0};                // the range of pixel values
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomHue: rotates the hues of images with red, green and blue channels. Images are
// as described in random_rotation.h.
class RandomHue final : public LayerHandle {
 public:
  explicit RandomHue(const RandomHueOptions& options);
  static RandomHue from_config(const Json& config);
};

}  // namespace cornu::layers
