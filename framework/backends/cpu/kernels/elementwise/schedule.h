// SPDX-License-Identifier: Apache-2.0
// The order of a tile program's operations, and their grouping into chains.
#pragma once

#include <memory>
#include <vector>

#include "framework/backends/cpu/kernels/elementwise/chain.h"
#include "framework/backends/cpu/kernels/elementwise/code.h"

namespace cornu::cpu {

// One call of a tile function.
struct TileStep {
  TileFn run = nullptr;
  std::vector<int> in;   // values
  std::vector<int> out;  // values
  std::shared_ptr<const Chain> chain;
  TileStage stage = TileStage::Tile;
  double cost = 0;  // nanoseconds per element
};

struct TileSchedule {
  std::vector<TileStep> steps;
  // By value, -1 for never: the index of the last operation on a tile that reads it, and of the one
  // that computes it. Operations are counted in execution order, also within chains.
  std::vector<int> last_read;
  std::vector<int> made;
};

// Orders the instructions so that results are used soon after they are computed.
TileSchedule schedule(const TileCode& code);

}  // namespace cornu::cpu
