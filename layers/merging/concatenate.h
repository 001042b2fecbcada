// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ConcatenateOptions {
  int64_t axis = -1;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Concatenate: concatenates its inputs along `axis`. All other axes must have the same
// sizes. The output has a mask if any input does.
class Concatenate final : public LayerHandle {
 public:
  explicit Concatenate(const ConcatenateOptions& options = {});
  static Concatenate from_config(const Json& config);
};

// keras.layers.concatenate: creates the layer and calls it.
inline Tensor concatenate(const Tensors& inputs, const ConcatenateOptions& options = {}) {
  return Concatenate(options)(inputs);
}

}  // namespace cornu::layers
