// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct UnitNormalizationOptions {
  AxisList axis = -1;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.UnitNormalization: divides x by its Euclidean norm over `axis`.
class UnitNormalization final : public LayerHandle {
 public:
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
  static UnitNormalization from_config(const Json& config);
};

}  // namespace cornu::layers
