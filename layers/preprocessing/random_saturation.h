// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomSaturationOptions {
  // Required, in [-1, 1]; a single number f means [-f, f]. A number f drawn within these bounds
  // multiplies saturations by f / (1 - f): by 0 if f <= 0, by 1 if f is 0.5.
  NumberList factor = {};
  // Saturations are clipped to these bounds; those of images are in [0, 1].
  NumberList value_range = {0.0, 255.0};
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomSaturation: makes the colors of red, green and blue channels paler or
// stronger. As in Keras, the bounds of `factor` are [-f, f] for a single number, and stronger
// colors may exceed the range of pixel values unless value_range is {0, 1}. Images are as described
// in random_rotation.h.
class RandomSaturation final : public LayerHandle {
 public:
  explicit RandomSaturation(const RandomSaturationOptions& options);
  static RandomSaturation from_config(const Json& config);
};

}  // namespace cornu::layers
