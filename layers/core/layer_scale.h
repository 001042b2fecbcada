// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct LayerScaleOptions {
  double init_values = 1e-6;
  int64_t projection_dim = 0;  // number of channels; required
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// The layer of this name in keras.applications' ConvNeXt (Touvron et al., "Going deeper with image
// transformers", 2021): x * gamma, for inputs (…, projection_dim).
//
// Weight: gamma (projection_dim), initially init_values.
class LayerScale final : public LayerHandle {
 public:
  explicit LayerScale(const LayerScaleOptions& options);
  static LayerScale from_config(const Json& config);
};

}  // namespace cornu::layers
