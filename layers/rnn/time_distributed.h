// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct TimeDistributedOptions {
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.TimeDistributed: a layer that is applied to each step of a sequence.
//
//   layers::TimeDistributed(layers::Conv2D({.filters = 8, .kernel_size = 3}))
//
// (batch, time, …) -> (batch, time, what the layer makes of (batch, …)). All steps are computed at
// once, but for those of layers with weights that training updates by itself (BatchNormalization),
// which follow one another in training. InvalidArgument for fewer than 3 axes.
// Weights: its layer's.
class TimeDistributed : public LayerHandle {
 public:
  explicit TimeDistributed(const LayerHandle& layer, const TimeDistributedOptions& options = {});
  static TimeDistributed from_config(const Json& config);
};

}  // namespace cornu::layers
