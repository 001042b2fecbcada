// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct RepeatVectorOptions {
  int64_t n = 0;  // required, > 0
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.RepeatVector: (batch, features) -> (batch, n, features).
class RepeatVector final : public LayerHandle {
 public:
  explicit RepeatVector(const RepeatVectorOptions& options);
  template <std::integral T = int64_t>  // the default covers RepeatVector({3})
  explicit RepeatVector(T n) : RepeatVector(RepeatVectorOptions{.n = static_cast<int64_t>(n)}) {}
  static RepeatVector from_config(const Json& config);
};

}  // namespace cornu::layers
