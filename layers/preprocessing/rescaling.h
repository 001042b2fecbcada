// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RescalingOptions {
  NumberList scale = {};  // required: a number, or one for each channel
  NumberList offset = 0.0;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Rescaling: x * scale + offset, in the layer's dtype. Integers are cast to it.
class Rescaling final : public LayerHandle {
 public:
  explicit Rescaling(const RescalingOptions& options);
  static Rescaling from_config(const Json& config);
};

}  // namespace cornu::layers
