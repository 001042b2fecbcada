// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct ActivityRegularizationOptions {
  double l1 = 0.0;
  double l2 = 0.0;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ActivityRegularization: returns the input unchanged and adds l1 * sum(|x|) +
// l2 * sum(x^2) to the losses.
class ActivityRegularization final : public LayerHandle {
 public:
  explicit ActivityRegularization(const ActivityRegularizationOptions& options = {});
  static ActivityRegularization from_config(const Json& config);
};

}  // namespace cornu::layers
