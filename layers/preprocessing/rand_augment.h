// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandAugmentOptions {
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  int64_t num_ops = 2;                    // consecutive operations, drawn per batch
  // In [0, 1]: the bounds for the strength of each operation, drawn per image; a single number is
  // the upper bound.
  NumberList factor = 0.5;
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  std::string data_format = {};            // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandAugment: applies operations drawn at random: shear, translation, rotation,
// brightness, color degeneration, posterization, solarization, sharpness, equalization and contrast
// (Cubuk et al. 2019). Images are as described in random_rotation.h, with red, green and blue
// channels.
class RandAugment final : public LayerHandle {
 public:
  explicit RandAugment(const RandAugmentOptions& options = {});
  static RandAugment from_config(const Json& config);
};

}  // namespace cornu::layers
