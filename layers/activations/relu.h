// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ReLUOptions {
  std::optional<double> max_value = {};  // all three: >= 0
  double negative_slope = 0.0;
  double threshold = 0.0;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ReLU: x above `threshold`, at most max_value; negative_slope * (x - threshold)
// below.
class ReLU final : public LayerHandle {
 public:
  explicit ReLU(const ReLUOptions& options = {});
  static ReLU from_config(const Json& config);
};

struct LeakyReLUOptions {
  double negative_slope = 0.3;  // >= 0
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.LeakyReLU: x, or negative_slope * x if x < 0.
class LeakyReLU final : public LayerHandle {
 public:
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
  static LeakyReLU from_config(const Json& config);
};

}  // namespace cornu::layers
