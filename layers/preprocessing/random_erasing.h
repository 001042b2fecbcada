// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomErasingOptions {
  // In [0, 1]: the bounds of the probability that a part is erased; a single number is the upper
  // bound.
  NumberList factor = 1.0;
  // In [0, 1]: the bounds of the squares of the part's height and width, as fractions of the
  // image's.
  NumberList scale = {0.02, 0.33};
  NumberList fill_value = {};             // one number, or three, one per channel; None: noise
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  std::optional<int64_t> seed = {};       // None: the next seed of this thread's sequence
  std::string data_format = {};           // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomErasing: fills a random rectangle in an image. Noise is normal, scaled by the
// upper bound of value_range; fill values are clipped to value_range. Images are as described in
// random_rotation.h.
class RandomErasing final : public LayerHandle {
 public:
  explicit RandomErasing(const RandomErasingOptions& options = {});
  static RandomErasing from_config(const Json& config);
};

}  // namespace cornu::layers
