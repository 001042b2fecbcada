// SPDX-License-Identifier: Apache-2.0
// What the streams of one iterator share.
#pragma once

#include <memory>

#include "data/autotune.h"
#include "data/options.h"
#include "data/stage.h"

namespace cornu::data {

struct Iteration {
  explicit Iteration(const Options& of)
      : options(of), memory(std::make_shared<MemoryBudget>(options.autotune.ram_budget)) {}

  const Options options;
  const std::shared_ptr<MemoryBudget> memory;
  mutable Demand demand;
  std::shared_ptr<Recorder> recorder = {};  // null: nothing is measured
};

}  // namespace cornu::data
