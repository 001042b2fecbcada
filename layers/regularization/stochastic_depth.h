// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct StochasticDepthOptions {
  double drop_path_rate = 0;  // fraction of examples to drop, in [0, 1)
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// The layer of this name in keras.applications' ConvNeXt (Huang et al., "Deep networks with
// stochastic depth", 2016): in training, sets whole examples to zero and divides the others by 1 -
// drop_path_rate. As there, it draws without a seed and has no state.
class StochasticDepth final : public LayerHandle {
 public:
  explicit StochasticDepth(const StochasticDepthOptions& options = {});
  static StochasticDepth from_config(const Json& config);
};

}  // namespace cornu::layers
