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

// keras.layers.Activation: a function by name, or a callable (which can't be saved).
class Activation : public LayerHandle {
 public:
  explicit Activation(const ActivationOptions& options);
  // Plain, `Activation("relu")`; in braces, where options are meant, too: T's default is what
  // `Activation({"relu"})` takes, which could as well be an Activation's to copy.
  template <std::convertible_to<cornu::Activation> T = const char*>
  requires(!std::is_base_of_v<LayerHandle, T>) explicit Activation(const T& activation)
      : Activation(ActivationOptions{.activation = activation}) {}
  static Activation from_config(const Json& config);
};

}  // namespace cornu::layers
