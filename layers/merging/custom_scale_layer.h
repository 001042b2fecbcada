// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct CustomScaleLayerOptions {
  double scale = 1;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// The layer of this name in keras.applications' InceptionResNetV2: the first input plus `scale`
// times the second; the inputs must broadcast.
class CustomScaleLayer final : public LayerHandle {
 public:
  explicit CustomScaleLayer(const CustomScaleLayerOptions& options = {});
  static CustomScaleLayer from_config(const Json& config);
};

}  // namespace cornu::layers
