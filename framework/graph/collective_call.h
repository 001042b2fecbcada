// SPDX-License-Identifier: Apache-2.0
// What a rank asks of its group, for ranks to compare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/graph/communicator.h"

namespace cornu {

// What a rank asks for. Its memory is the others' until the call is done.
struct CollectiveCall {
  enum class Kind { AllReduce, ReduceScatter, AllGather, Broadcast, Barrier };
  Kind kind = Kind::Barrier;
  std::vector<Segment> segments;  // counts are bytes where there is no dtype
  std::optional<DType> dtype = {};
  ReduceOp op = ReduceOp::Sum;
  int root = 0;

  int64_t count() const;
  bool agrees(const CollectiveCall& other) const;
  std::string text() const;
};

// Thrown where ranks call different things, or one calls nothing: whoever runs them can say where.
class RanksDiffer : public FailedPrecondition {
 public:
  using FailedPrecondition::FailedPrecondition;
};

// RanksDiffer where a rank's call isn't what another rank calls in its place.
void require_agreement(int rank, const CollectiveCall& call, int other,
                       const CollectiveCall& theirs);
// Where another rank's step has ended without the call.
[[noreturn]] void raise_ended_without(int rank, const CollectiveCall& call);

}  // namespace cornu
