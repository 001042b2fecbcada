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

// keras.layers.TimeDistributed: applies a layer to each step of a sequence.
//
//   layers::TimeDistributed(layers::Conv2D({.filters = 8, .kernel_size = 3}))
//
// (batch, time, …) -> (batch, time, the layer's output for (batch, …)). All steps are computed
// together, except for stateful layers and, in training, for layers that update weights in their
// calls (BatchNormalization), which run step by step. Throws InvalidArgument for fewer than 3 axes.
// Weights: those of its layer.
class TimeDistributed final : public LayerHandle {
 public:
  explicit TimeDistributed(const LayerHandle& layer, const TimeDistributedOptions& options = {});
  static TimeDistributed from_config(const Json& config);
};

}  // namespace cornu::layers
