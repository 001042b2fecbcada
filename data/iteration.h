// SPDX-License-Identifier: Apache-2.0
// State shared by the streams of one iterator.
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
  std::shared_ptr<Recorder> recorder = {};  // null if nothing is measured
  // Set when a transform returns elements as they become ready, so that their number isn't a
  // position.
  mutable std::atomic<bool> any_order = false;
  // The drawn seeds of the chain, keyed by their address in the chain: restoring another iterator
  // may change the seeds there. Written before streams are opened.
  std::map<const std::atomic<uint64_t>*, uint64_t> seeds = {};
};

// While an object of this class lives, its thread is tracing a dataset function. Iterating a
// dataset meanwhile throws NotTraceable, since the iteration can't be part of a graph and its
// threads may have to wait for the trace.
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
