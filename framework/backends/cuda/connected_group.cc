// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/connected_group.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu::cuda {

void Connection::all_reduce(int rank, RuntimeStream* stream, std::span<const Segment> segments,
                            DType dtype, ReduceOp op) {
  compare(rank, {CollectiveCall::Kind::AllReduce, {segments.begin(), segments.end()}, dtype, op});
  links_[index_of(rank)]->all_reduce(stream, segments, dtype, op);
  std::shared_ptr<RuntimeEvent> done = runtime_.record(stream);
  const std::lock_guard lock(mutex_);
  ranks_[index_of(rank)].last = std::move(done);
}

void Connection::compare(int rank, const CollectiveCall& call) {
  check_state(rank);
  const std::lock_guard lock(mutex_);
  const size_t number = ranks_[index_of(rank)].calls++;
  if (number < calls_.size()) {
    return require_agreement(rank, call, calls_[number].rank, calls_[number].call);
  }
  if (std::ranges::any_of(ranks_, &Rank::ended)) raise_ended_without(rank, call);
  calls_.push_back({rank, call});
}

void Connection::end_step(int rank) {
  const std::lock_guard lock(mutex_);
  Rank& own = ranks_[index_of(rank)];
  if (own.calls < calls_.size()) {
    raise_ended_without(calls_[own.calls].rank, calls_[own.calls].call);
  }
  own.ended = true;
  if (!std::ranges::all_of(ranks_, &Rank::ended)) return;
  calls_.clear();
  for (Rank& one : ranks_) one = {.last = one.last, .settled = one.last};
}

// Results of earlier steps are already in use, so stopping these steps would leave undetected
// garbage. All ranks have enqueued them, so they will complete.
void Connection::abort() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    std::shared_ptr<RuntimeEvent> settled;
    {
      const std::lock_guard lock(mutex_);
      settled = ranks_[i].settled;
    }
    try {
      if (settled) links_[i]->synchronize(*settled);
    } catch (const Error&) {  // a GPU has failed, or another rank aborts
      break;
    }
  }
  for (const auto& link : links_) link->abort();
}

}  // namespace cornu::cuda
