// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomZoomOptions {
  // Required: the bounds of the additional visible height, in (-1, 1]; 0.2 means 20 % more (zooming
  // out), -0.2 less. A single number f means [-f, f].
  NumberList height_factor = {};
  NumberList width_factor = {};            // None: same as height_factor
  std::string fill_mode = "reflect";       // as in ops::image::AffineTransformOptions
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  double fill_value = 0.0;
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomZoom: zooms in or out. Images are as described in random_rotation.h.
class RandomZoom final : public LayerHandle {
 public:
  explicit RandomZoom(const RandomZoomOptions& options);
  static RandomZoom from_config(const Json& config);
};

}  // namespace cornu::layers
