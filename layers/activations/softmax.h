// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct SoftmaxOptions {
  AxisList axis = -1;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Softmax: exp(x), normalized to sum to 1 over `axis`. The output is 0 where a mask
// (which must broadcast to the input) is false.
class Softmax final : public LayerHandle {
 public:
  explicit Softmax(const SoftmaxOptions& options = {});
  static Softmax from_config(const Json& config);
};

}  // namespace cornu::layers
