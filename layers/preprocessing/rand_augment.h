// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RandAugmentOptions {
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  int64_t num_ops = 2;                    // changes one after the other, drawn for a batch
  // In [0, 1]: the bounds of what each change draws for a picture; a single number is the upper
  // bound.
  NumberList factor = 0.5;
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<int64_t> seed = {};        // None: the next seed of this thread's sequence
  std::string data_format = {};            // None: "channels_last"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RandAugment: shears, moves, turns, brightens, fades, posterizes, solarizes, sharpens
// or equalizes pictures, or changes their contrast, by changes drawn at random (Cubuk et al. 2019).
// Pictures as in random_rotation.h, of red, green and blue.
class RandAugment : public LayerHandle {
 public:
  explicit RandAugment(const RandAugmentOptions& options = {});
  static RandAugment from_config(const Json& config);
};

}  // namespace cornu::layers
