// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ELUOptions {
  double alpha = 1.0;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ELU: x, or alpha * (exp(x) - 1) if x < 0.
class ELU final : public LayerHandle {
 public:
  explicit ELU(const ELUOptions& options = {});
  static ELU from_config(const Json& config);
};

}  // namespace cornu::layers
