// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct DotOptions {
  AxisList axes = {};      // required: one axis for both inputs, or one each; not the batch
  bool normalize = false;  // first normalize along the axes: cosine similarity
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Dot: for each example, sums the products of two inputs over one axis of each.
//
// The output has the first input's remaining axes, then those of the second except the batch:
// (batch, a, n) and (batch, n, b) with axes {2, 1} result in (batch, a, b). Two vectors result in
// (batch, 1).
class Dot final : public LayerHandle {
 public:
  explicit Dot(const DotOptions& options);
  static Dot from_config(const Json& config);
};

// keras.layers.dot: creates the layer and calls it.
inline Tensor dot(const Tensors& inputs, const DotOptions& options) { return Dot(options)(inputs); }

}  // namespace cornu::layers
