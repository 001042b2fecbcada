// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct GroupNormalizationOptions {
  int64_t groups = 32;  // must divide the channels; -1: one group per channel
  int64_t axis = -1;    // the channel axis
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

// keras.layers.GroupNormalization (Wu & He, "Group normalization", ECCV 2018): normalizes each
// group of channels of each example, over all axes except the batch.
//
// Weights: gamma, beta; each (channels,).
class GroupNormalization final : public LayerHandle {
 public:
  explicit GroupNormalization(const GroupNormalizationOptions& options = {});
  static GroupNormalization from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable gamma() const { return weight("gamma"); }
  Variable beta() const { return weight("beta"); }
};

}  // namespace cornu::layers
