// SPDX-License-Identifier: Apache-2.0
// Registers the optimizers and schedules in this directory by name.
#pragma once

#include "framework/core/registry.h"
#include "framework/train/optimizer.h"

namespace cornu::optimizers {

void register_all(Registry<OptimizerFactory>& registry);

namespace schedules {
void register_all(Registry<ScheduleFactory>& registry);
}

}  // namespace cornu::optimizers
