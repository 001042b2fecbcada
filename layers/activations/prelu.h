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
  AxisList shared_axes = {};  // axes (1 is the first after the batch) along which alpha is the same
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.PReLU: x, or alpha * x where x < 0 (He et al., "Delving deep into rectifiers",
// 2015).
//
// Weight: alpha, of the shape of one example, with 1 for shared axes.
class PReLU : public LayerHandle {
 public:
  explicit PReLU(const PReLUOptions& options = {});
  static PReLU from_config(const Json& config);
  // FailedPrecondition before the layer is built, NotFound for one it was made without.
  Variable alpha() const { return weight("alpha"); }
};

}  // namespace cornu::layers
