// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct IdentityOptions {
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Identity: returns its inputs, one or several, unchanged.
class Identity final : public LayerHandle {
 public:
  explicit Identity(const IdentityOptions& options = {});
  static Identity from_config(const Json& config);
};

}  // namespace cornu::layers
