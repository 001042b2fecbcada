// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct SolarizationOptions {
  // In [0, 1]: bounds {a, b} mean an offset in [a, 255 b] for values in [0, 255] (as in Keras
  // 3.15); a single number is the upper bound.
  NumberList addition_factor = 0.0;
  NumberList threshold_factor = 0.0;      // likewise for the inversion threshold
  NumberList value_range = {0.0, 255.0};  // the range of pixel values
  std::optional<int64_t> seed = {};       // None: the next seed of this thread's sequence
  std::string data_format = {};           // None: "channels_last"
  std::optional<std::string> bounding_box_format = {};  // of boxes in dictionaries
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Solarization: adds an offset to all values, then inverts those above a threshold.
// Images are as described in random_rotation.h.
class Solarization final : public LayerHandle {
 public:
  explicit Solarization(const SolarizationOptions& options = {});
  static Solarization from_config(const Json& config);
};

}  // namespace cornu::layers
