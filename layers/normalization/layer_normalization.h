// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct LayerNormalizationOptions {
  AxisList axis = -1;  // the axes to normalize over
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.LayerNormalization (Ba et al., "Layer normalization", 2016): (x - mean) /
// sqrt(variance + epsilon) * gamma + beta, with mean and variance over `axis`.
//
// Weights: gamma, beta; with the sizes of the axes, in ascending order.
class LayerNormalization final : public LayerHandle {
 public:
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
  static LayerNormalization from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable gamma() const { return weight("gamma"); }
  Variable beta() const { return weight("beta"); }
};

}  // namespace cornu::layers
