// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "distribute/strategies/cross_device_ops.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct MirroredStrategyOptions {
  // "CPU:0", "GPU:1", …, of one type. None: all GPUs of the machine, or its CPU.
  std::vector<std::string> devices = {};
  CrossDeviceOps cross_device_ops = {};
};

// Synchronous training on several devices of one machine (tf.distribute.MirroredStrategy): every
// replica has a copy of all variables and its part of each batch; gradients, losses and metrics are
// those of the whole batch. Logical devices "CPU:0", "CPU:1", … each have a share of the cores.
//
//   distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
//   auto scope = strategy.scope();
//   … make and compile a model …
//   model.fit(dataset, {.epochs = 3});
class MirroredStrategy : public Strategy {
 public:
  explicit MirroredStrategy(const MirroredStrategyOptions& options = {});
};

}  // namespace cornu::distribute
