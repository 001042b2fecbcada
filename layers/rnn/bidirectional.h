// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct BidirectionalOptions {
  // How to combine the two outputs: "concat", "sum", "mul", "ave"; empty (Keras's None): return
  // both.
  std::string merge_mode = "concat";
  LayerHandle backward_layer = {};  // empty: created from `layer`
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Bidirectional: a recurrent layer, and a similar one that runs from the last step to
// the first.
//
//   layers::Bidirectional(layers::LSTM({.units = 32, .return_sequences = true}))
//
// (batch, time, …) -> the merged outputs, (batch, [time,] 2 units) for "concat". With return_state,
// followed by the states of both layers. Further arguments are initial states: the first half for
// the forward layer, the second for the backward layer. The layer is copied via its config. Throws
// InvalidArgument for a layer that isn't recurrent, or an incompatible backward layer.
// Weights: forward_layer's, then backward_layer's.
class Bidirectional final : public LayerHandle {
 public:
  explicit Bidirectional(const LayerHandle& layer, const BidirectionalOptions& options = {});
  static Bidirectional from_config(const Json& config);
  // Zeros the states of stateful layers.
  void reset_state() const;
};

}  // namespace cornu::layers
