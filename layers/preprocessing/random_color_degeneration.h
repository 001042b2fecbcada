// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomColorDegenerationOptions {
  // Must be given, in [-1, 1]: the bounds of the part of the way to gray; one number for both ways.
  NumberList factor = {};
  NumberList value_range = {0.0, 255.0};  // the least and the greatest value of pictures
  std::string data_format = {};           // None: "channels_last"
  std::optional<int64_t> seed = {};       // None: the next of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomColorDegeneration: takes colors of red, green and blue towards gray (0 changes
// nothing, 1 gives grays), or away from it. Pictures as in random_rotation.h.
class RandomColorDegeneration : public LayerHandle {
 public:
  explicit RandomColorDegeneration(const RandomColorDegenerationOptions& options);
  static RandomColorDegeneration from_config(const Json& config);
};

}  // namespace cornu::layers
