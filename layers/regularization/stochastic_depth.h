// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct StochasticDepthOptions {
  double drop_path_rate = 0;  // the part of examples that are dropped, in [0, 1)
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// The layer of this name in keras.applications' ConvNeXt (Huang et al., "Deep networks with
// stochastic depth", 2016): in training whole examples become zeros, and the others are divided by
// 1 - drop_path_rate. Draws without a seed, and has no state, as there.
class StochasticDepth : public LayerHandle {
 public:
  explicit StochasticDepth(const StochasticDepthOptions& options = {});
  static StochasticDepth from_config(const Json& config);
};

}  // namespace cornu::layers
