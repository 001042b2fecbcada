// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomPerspectiveOptions {
  // In [0, 1]: the bounds of how likely a picture is seen in perspective; a single number is the
  // upper bound.
  NumberList factor = 1.0;
  double scale = 1.0;  // in [0, 1]: half of it is how far a corner moves at most, as a part
  std::string interpolation = "bilinear";  // or "nearest"
  double fill_value = 0.0;                 // of what lies outside
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  std::string data_format = {};            // None: "channels_last"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomPerspective: moves the corners of pictures but the one at the top left, as in
// Keras. Images are as described in random_rotation.h.
class RandomPerspective : public LayerHandle {
 public:
  explicit RandomPerspective(const RandomPerspectiveOptions& options = {});
  static RandomPerspective from_config(const Json& config);
};

}  // namespace cornu::layers
