// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomColorDegenerationOptions {
  // Required, in [-1, 1]: the bounds of the interpolation toward gray; a single number f means [-f,
  // f].
  NumberList factor = {};
  NumberList value_range = {0.0, 255.0};                // the range of pixel values
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomColorDegeneration: moves red, green and blue toward gray (0: no change, 1:
// gray) or away from it. Images are as described in random_rotation.h.
class RandomColorDegeneration final : public LayerHandle {
 public:
  explicit RandomColorDegeneration(const RandomColorDegenerationOptions& options);
  static RandomColorDegeneration from_config(const Json& config);
};

}  // namespace cornu::layers
