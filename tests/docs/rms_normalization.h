// SPDX-License-Identifier: Apache-2.0
// The layer of docs/adding/layer.md: its header.
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::example {

struct RMSNormalizationOptions {
  layers::AxisList axis = -1;
  double epsilon = 1e-6;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
};

// keras.layers.RMSNormalization: x / sqrt(mean(x^2) + epsilon) * scale, the mean over `axis`.
//
// Weights: scale, of the shape of `axis`.
class RMSNormalization : public LayerHandle {
 public:
  explicit RMSNormalization(const RMSNormalizationOptions& options = {});
  static RMSNormalization from_config(const Json& config);
};

}  // namespace cornu::example
