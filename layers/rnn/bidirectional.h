// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct BidirectionalOptions {
  // What becomes of the two outputs: "concat", "sum", "mul", "ave"; empty (Keras's None): both are
  // given.
  std::string merge_mode = "concat";
  LayerHandle backward_layer = {};  // none: made from `layer`
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Bidirectional: a recurrent layer, and one like it that runs from the last step to
// the first.
//
//   layers::Bidirectional(layers::LSTM({.units = 32, .return_sequences = true}))
//
// (batch, time, …) -> the merged outputs, (batch, [time,] 2 units) for "concat". With return_state
// the states of both follow. Further arguments are states to begin with: half of them the forward
// layer's, half the backward one's. The layer is copied by its config.
// InvalidArgument for a layer that isn't recurrent, or a backward one that doesn't fit.
// Weights: forward_layer's, then backward_layer's.
class Bidirectional : public LayerHandle {
 public:
  explicit Bidirectional(const LayerHandle& layer, const BidirectionalOptions& options = {});
  static Bidirectional from_config(const Json& config);
  // Zeros the states of stateful layers.
  void reset_state() const;
};

}  // namespace cornu::layers
