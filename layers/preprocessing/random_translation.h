// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomTranslationOptions {
  // Must be given: the bounds of the way down, as parts of the height, in [-1, 1]; one number for
  // both ways.
  NumberList height_factor = {};
  NumberList width_factor = {};            // must be given: to the right, as parts of the width
  std::string fill_mode = "reflect";       // as ops::image::AffineTransformOptions have it
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next of this thread's sequence
  double fill_value = 0.0;
  std::string data_format = {};  // None: "channels_last"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandomTranslation: shifts pictures. Pictures as in
// random_rotation.h.
class RandomTranslation : public LayerHandle {
 public:
  explicit RandomTranslation(const RandomTranslationOptions& options);
  static RandomTranslation from_config(const Json& config);
};

}  // namespace cornu::layers
