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
  double cost = 0;  // nanoseconds an element
};

struct TileSchedule {
  std::vector<TileStep> steps;
  // By value, -1 for never: which of the operations on a tile, counted in the order they are done
  // (within chains too), reads it for the last time, and which one makes it.
  std::vector<int> last_read;
  std::vector<int> made;
};

// Orders the instructions so that results are used while they are at hand.
TileSchedule schedule(const TileCode& code);

}  // namespace cornu::cpu
