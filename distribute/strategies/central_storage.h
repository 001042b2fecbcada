// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct CentralStorageStrategyOptions {
  // Devices that compute the steps, all of one type. Empty: all GPUs of the machine, or its CPU.
  std::vector<std::string> compute_devices = {};
  // Device that holds the variables: must share memory with the first compute device, which is the
  // default.
  std::string parameter_device = {};
};

// Synchronous training with a single copy of the variables (tf.distribute.CentralStorageStrategy):
// replicas read the values from before the step, gradients are summed, and one replica applies the
// update. Takes less memory than MirroredStrategy if the optimizer has much state, and computes the
// same numbers.
class CentralStorageStrategy final : public Strategy {
 public:
  explicit CentralStorageStrategy(const CentralStorageStrategyOptions& options = {});
};

}  // namespace cornu::distribute
