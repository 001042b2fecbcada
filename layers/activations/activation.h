// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ActivationOptions {
  cornu::Activation activation = {};  // None: linear
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Activation: an activation function by name, or a callable (which can't be saved).
class Activation final : public LayerHandle {
 public:
  explicit Activation(const ActivationOptions& options);
  // Allows `Activation("relu")`. In braces, options are possible, too: because of T's default,
  // `Activation({"relu"})` also calls this constructor, which would otherwise be ambiguous with the
  // copy constructor.
  template <std::convertible_to<cornu::Activation> T = const char*>
  requires(!std::is_base_of_v<LayerHandle, T>) explicit Activation(const T& activation)
      : Activation(ActivationOptions{.activation = activation}) {}
  static Activation from_config(const Json& config);
};

}  // namespace cornu::layers
