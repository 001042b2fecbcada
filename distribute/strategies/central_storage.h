// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct CentralStorageStrategyOptions {
  // Where steps are computed, of one type. None: all GPUs of the machine, or its CPU.
  std::vector<std::string> compute_devices = {};
  // Where variables lie: on the first of these. None: there.
  std::string parameter_device = {};
};

// Synchronous training with one copy of the variables (tf.distribute.CentralStorageStrategy):
// replicas read them as they were before the step, gradients are added up, and one replica updates.
// Takes less memory than MirroredStrategy where optimizers keep much, and gives the same numbers.
class CentralStorageStrategy : public Strategy {
 public:
  explicit CentralStorageStrategy(const CentralStorageStrategyOptions& options = {});
};

}  // namespace cornu::distribute
