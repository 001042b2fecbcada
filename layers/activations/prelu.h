// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  AxisList shared_axes = {};  // axes that share alpha (1 is the first after the batch)
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.PReLU: x, or alpha * x if x < 0 (He et al., "Delving deep into rectifiers", 2015).
//
// Weight: alpha, with the shape of one example and size 1 for shared axes.
class PReLU final : public LayerHandle {
 public:
  explicit PReLU(const PReLUOptions& options = {});
  static PReLU from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable alpha() const { return weight("alpha"); }
};

}  // namespace cornu::layers
