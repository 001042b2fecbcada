// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomInvertOptions {
  // In [0, 1]: the bounds of the probability that an image is inverted; a single number is the
  // upper bound.
  NumberList factor = 1.0;
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  std::optional<int64_t> seed = {};       // None: the next seed of this thread's sequence
  std::string data_format = {};           // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomInvert: subtracts values from the upper bound of value_range. Images are as
// described in random_rotation.h.
class RandomInvert final : public LayerHandle {
 public:
  explicit RandomInvert(const RandomInvertOptions& options = {});
  static RandomInvert from_config(const Json& config);
};

}  // namespace cornu::layers
