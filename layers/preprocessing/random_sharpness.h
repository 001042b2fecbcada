// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomSharpnessOptions {
  // Required, in [0, 1]: 0 blurs, 0.5 changes nothing, 1 sharpens; a single number is the upper
  // bound.
  NumberList factor = {};
  NumberList value_range = {0.0, 255.0};                // the range of pixel values
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomSharpness: blurs images over 3 x 3 pixels, or reverses such a blur. Images are
// as described in random_rotation.h.
class RandomSharpness final : public LayerHandle {
 public:
  explicit RandomSharpness(const RandomSharpnessOptions& options);
  static RandomSharpness from_config(const Json& config);
};

}  // namespace cornu::layers
