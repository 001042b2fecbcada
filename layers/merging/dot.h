// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct DotOptions {
  AxisList axes = {};      // must be given: one axis of both inputs, or one of each; not the batch
  bool normalize = false;  // to length 1 along the axes first: the cosine of the angle
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Dot: for each example, the sums of products of two inputs over an axis of each.
//
// The output has the axes of the first input without its own, then the second's without its own and
// the batch: (batch, a, n) and (batch, n, b) by {2, 1} give (batch, a, b). Two vectors give
// (batch, 1).
class Dot : public LayerHandle {
 public:
  explicit Dot(const DotOptions& options);
  static Dot from_config(const Json& config);
};

// keras.layers.dot: the layer, made and called.
inline Tensor dot(const Tensors& inputs, const DotOptions& options) { return Dot(options)(inputs); }

}  // namespace cornu::layers
