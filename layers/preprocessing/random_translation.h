// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandomTranslationOptions {
  // Required: the bounds of the downward shift, as fractions of the height, in [-1, 1]; a single
  // number f means [-f, f].
  NumberList height_factor = {};
  NumberList width_factor = {};            // required: to the right, relative to the width
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

// keras.layers.RandomTranslation: shifts images. Images are as described in random_rotation.h.
class RandomTranslation final : public LayerHandle {
 public:
  explicit RandomTranslation(const RandomTranslationOptions& options);
  static RandomTranslation from_config(const Json& config);
};

}  // namespace cornu::layers
