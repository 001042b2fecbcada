// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct GroupNormalizationOptions {
  int64_t groups = 32;  // divides the channels; -1: as many as channels
  int64_t axis = -1;    // of the channels
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

// keras.layers.GroupNormalization (Wu & He, "Group normalization", ECCV 2018): each example's
// groups of channels are normalized together, over all axes but the batch's.
//
// Weights: gamma, beta; each (channels,).
class GroupNormalization : public LayerHandle {
 public:
  explicit GroupNormalization(const GroupNormalizationOptions& options = {});
  static GroupNormalization from_config(const Json& config);
  // FailedPrecondition before the layer is built, NotFound for one it was made without.
  Variable gamma() const { return weight("gamma"); }
  Variable beta() const { return weight("beta"); }
};

}  // namespace cornu::layers
