// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct RMSNormalizationOptions {
  AxisList axis = -1;  // what is normalized together
  double epsilon = 1e-6;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RMSNormalization (Zhang & Sennrich, "Root mean square layer normalization", 2019):
// x / sqrt(mean(x^2) + epsilon) * scale, the mean over `axis`.
//
// Weight: scale, of the sizes of the axes, in ascending order.
class RMSNormalization final : public LayerHandle {
 public:
  explicit RMSNormalization(const RMSNormalizationOptions& options = {});
  static RMSNormalization from_config(const Json& config);
  // FailedPrecondition before the layer is built.
  Variable scale() const { return weight("scale"); }
};

}  // namespace cornu::layers
