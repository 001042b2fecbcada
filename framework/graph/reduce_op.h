// SPDX-License-Identifier: Apache-2.0
// The names of reductions.
#pragma once

#include "framework/graph/communicator.h"

namespace cornu {

// "sum", "mean", "min" or "max", as in the attribute "reduce" of all_reduce.
inline const char* name_of(ReduceOp op) {
  constexpr const char* kNames[] = {"sum", "mean", "min", "max"};
  return kNames[static_cast<int>(op)];
}

}  // namespace cornu
