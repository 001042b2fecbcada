// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomShearOptions {
  // In [-1, 1]: the bounds of the shift of rows per row, and of columns per column; a single number
  // f means [-f, f]. With probability 1/2, the sign of the drawn number is flipped.
  NumberList x_factor = 0.0;
  NumberList y_factor = 0.0;
  std::string interpolation = "bilinear";  // or "nearest"
  std::string fill_mode = "reflect";       // as in ops::image::AffineTransformOptions
  double fill_value = 0.0;
  std::string data_format = {};                         // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomShear: moves rows and columns in proportion to their distance from the top
// left. Images are as described in random_rotation.h.
class RandomShear final : public LayerHandle {
 public:
  explicit RandomShear(const RandomShearOptions& options = {});
  static RandomShear from_config(const Json& config);
};

}  // namespace cornu::layers
