// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "distribute/strategies/exchange.h"

namespace cornu::distribute {

// Warns about workers whose clocks differ from worker 0's by several seconds. All workers have just
// synchronized, so that they read their clocks at about the same time.
void compare_clocks(const std::string& strategy, const Exchange& exchange);

}  // namespace cornu::distribute
