// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomPosterizationOptions {
  // Required, in [1, 8]: the bounds of the number of bits to keep, out of 8; the upper bound is
  // exclusive unless both are equal. A single number is the upper bound, with a lower bound of 1.
  NumberList factor = {};
  NumberList value_range = {0.0, 255.0};                // the range of pixel values
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomPosterization: keeps the leading bits of values as 8-bit integers. Images are
// as described in random_rotation.h.
class RandomPosterization final : public LayerHandle {
 public:
  explicit RandomPosterization(const RandomPosterizationOptions& options);
  static RandomPosterization from_config(const Json& config);
};

}  // namespace cornu::layers
