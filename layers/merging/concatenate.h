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

// keras.layers.Concatenate: its inputs, one after the other along `axis`. They have the same sizes
// on all other axes. Where one of them has a mask, so has the output.
class Concatenate : public LayerHandle {
 public:
  explicit Concatenate(const ConcatenateOptions& options = {});
  static Concatenate from_config(const Json& config);
};

// keras.layers.concatenate: the layer, made and called.
inline Tensor concatenate(const Tensors& inputs, const ConcatenateOptions& options = {}) {
  return Concatenate(options)(inputs);
}

}  // namespace cornu::layers
