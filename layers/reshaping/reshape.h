// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ReshapeOptions {
  OptionalShape target_shape = {};  // of one example; one axis may be -1. Must be given
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Reshape: (batch, …) -> (batch, *target_shape), of as many elements. An axis of -1
// takes what the others leave.
class Reshape : public LayerHandle {
 public:
  explicit Reshape(const ReshapeOptions& options);
  template <std::same_as<Shape> T = Shape>  // a template gives way to options in braces
  explicit Reshape(const T& target_shape) : Reshape(ReshapeOptions{.target_shape = target_shape}) {}
  static Reshape from_config(const Json& config);
};

}  // namespace cornu::layers
