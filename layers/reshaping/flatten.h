// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct FlattenOptions {
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Flatten: (batch, …) -> (batch, product of …).
class Flatten final : public LayerHandle {
 public:
  explicit Flatten(const FlattenOptions& options = {});
  static Flatten from_config(const Json& config);
};

}  // namespace cornu::layers
