// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct MaskingOptions {
  double mask_value = 0.0;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Masking: masks the steps of (batch, steps, features) whose features all equal
// mask_value, and sets them to 0.
class Masking final : public LayerHandle {
 public:
  explicit Masking(const MaskingOptions& options = {});
  static Masking from_config(const Json& config);
};

}  // namespace cornu::layers
