// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/mirrored.h"

#include "distribute/strategies/replicated.h"

namespace cornu::distribute {
MirroredStrategy::MirroredStrategy(const MirroredStrategyOptions& options)
    : Strategy(std::make_shared<MirroredReplicas>(
          "MirroredStrategy", parse_devices("MirroredStrategy", options.devices),
          options.cross_device_ops)) {}

}  // namespace cornu::distribute
