// SPDX-License-Identifier: Apache-2.0
// Descriptions of collective calls, which ranks compare with each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/graph/communicator.h"

namespace cornu {

// A rank's call. The other ranks may access its memory until the call completes.
struct CollectiveCall {
  enum class Kind { AllReduce, ReduceScatter, AllGather, Broadcast, Barrier };
  Kind kind = Kind::Barrier;
  std::vector<Segment> segments;  // without a dtype, counts are in bytes
  std::optional<DType> dtype = {};
  ReduceOp op = ReduceOp::Sum;
  int root = 0;

  int64_t count() const;
  bool agrees(const CollectiveCall& other) const;
  std::string text() const;
};

// Thrown when ranks make different calls, or one makes none. Callers that run the ranks can add
// where it happened.
class RanksDiffer : public FailedPrecondition {
 public:
  using FailedPrecondition::FailedPrecondition;
};

// Throws RanksDiffer if a rank's call doesn't match that of another rank.
void require_agreement(int rank, const CollectiveCall& call, int other,
                       const CollectiveCall& theirs);
// Throws RanksDiffer: another rank's step has ended without this call.
[[noreturn]] void raise_ended_without(int rank, const CollectiveCall& call);

}  // namespace cornu
