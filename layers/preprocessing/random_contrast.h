// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomContrastOptions {
  // Required, in [0, 1]: two numbers a and b mean [1 - a, 1 + b], a single number b means [1, 1 +
  // b] (as in Keras 3.15).
  NumberList factor = {};
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  std::optional<int64_t> seed = {};       // None: the next seed of this thread's sequence
  std::string data_format = {};           // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomContrast: multiplies the distance of values from their channel's mean by a
// factor, clipping to value_range. Images are as described in random_rotation.h.
class RandomContrast final : public LayerHandle {
 public:
  explicit RandomContrast(const RandomContrastOptions& options);
  static RandomContrast from_config(const Json& config);
};

}  // namespace cornu::layers
