// SPDX-License-Identifier: Apache-2.0
// What the streams of one iterator share.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

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
  // Something gives elements as they are ready: a count of them is no position.
  mutable std::atomic<bool> any_order = false;
  // The drawn seeds of its chain, by where the chain keeps them: others' restoring changes those.
  // Written before streams are opened.
  std::map<const std::atomic<uint64_t>*, uint64_t> seeds = {};
};

// While this lives, this thread traces a function of a dataset. An iteration in it is no part of a
// graph, and its threads may have to wait for the trace: NotTraceable.
class [[nodiscard]] TracedFunctionScope {
 public:
  TracedFunctionScope() : outer_(std::exchange(active(), true)) {}
  ~TracedFunctionScope() { active() = outer_; }
  TracedFunctionScope(const TracedFunctionScope&) = delete;
  TracedFunctionScope& operator=(const TracedFunctionScope&) = delete;

  static bool& active() {
    static thread_local bool active = false;
    return active;
  }

 private:
  bool outer_;
};

}  // namespace cornu::data
