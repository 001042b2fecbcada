// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomPerspectiveOptions {
  // In [0, 1]: the bounds of the probability that an image is transformed; a single number is the
  // upper bound.
  NumberList factor = 1.0;
  double scale = 1.0;  // in [0, 1]: twice the maximum relative shift of a corner
  std::string interpolation = "bilinear";  // or "nearest"
  double fill_value = 0.0;                 // for pixels outside
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  std::string data_format = {};            // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomPerspective: moves the corners of images, except the top left one, as in
// Keras. Images are as described in random_rotation.h.
class RandomPerspective final : public LayerHandle {
 public:
  explicit RandomPerspective(const RandomPerspectiveOptions& options = {});
  static RandomPerspective from_config(const Json& config);
};

}  // namespace cornu::layers
