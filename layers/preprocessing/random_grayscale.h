// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomGrayscaleOptions {
  double factor = 0.5;                                  // probability of grayscale, in [0, 1]
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomGrayscale: sets the red, green and blue channels to the gray value of
// ops::image::rgb_to_grayscale. As in Keras, its config doesn't contain the seed. Images are as
// described in random_rotation.h.
class RandomGrayscale final : public LayerHandle {
 public:
  explicit RandomGrayscale(const RandomGrayscaleOptions& options = {});
  static RandomGrayscale from_config(const Json& config);
};

}  // namespace cornu::layers
