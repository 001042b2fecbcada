// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct HashedCrossingOptions {
  int64_t num_bins = 0;  // required
  std::string output_mode = "int";
  std::string name = {};
  DTypeName dtype = {};  // empty: int64 for "int", else float32
};

// keras.layers.HashedCrossing: maps two or more inputs of strings or integers, of shape (), (batch)
// or (batch, 1), to the bin of each example's combination: `layer({city, hour})`. The bins are
// TensorFlow's. output_mode: "int" (with the inputs' shape) or "one_hot", (batch, num_bins).
//
// Numbers are supported everywhere, strings where Hashing supports them.
class HashedCrossing final : public LayerHandle {
 public:
  explicit HashedCrossing(const HashedCrossingOptions& options);
  static HashedCrossing from_config(const Json& config);
};

}  // namespace cornu::layers
