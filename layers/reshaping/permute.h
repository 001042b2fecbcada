// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::layers {

struct PermuteOptions {
  std::vector<int64_t> dims = {};  // required
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Permute: axis i of the output is axis dims[i - 1] of the input. Axes count from 1;
// the batch, axis 0, is unchanged.
class Permute final : public LayerHandle {
 public:
  explicit Permute(const PermuteOptions& options);
  template <std::same_as<std::vector<int64_t>> T = std::vector<int64_t>>  // as for Reshape
  explicit Permute(const T& dims) : Permute(PermuteOptions{.dims = dims}) {}
  static Permute from_config(const Json& config);
};

}  // namespace cornu::layers
