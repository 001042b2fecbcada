// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ReshapeOptions {
  OptionalShape target_shape = {};  // of one example; one axis may be -1. Required
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Reshape: (batch, …) -> (batch, *target_shape), with the same number of elements. An
// axis of -1 is inferred from the others.
class Reshape final : public LayerHandle {
 public:
  explicit Reshape(const ReshapeOptions& options);
  template <std::same_as<Shape> T = Shape>  // as a template, it ranks below options in braces
  explicit Reshape(const T& target_shape) : Reshape(ReshapeOptions{.target_shape = target_shape}) {}
  static Reshape from_config(const Json& config);
};

}  // namespace cornu::layers
