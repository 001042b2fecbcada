// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "framework/graph/function.h"

namespace cornu {

// No other function of the process has it; copies of a handle do. FailedPrecondition for a
// Function() that was never assigned.
uint64_t number_of(const Function& function);

}  // namespace cornu
