// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/collective_call.h"

#include <algorithm>

#include "framework/graph/reduce_op.h"

namespace cornu {
namespace {

using Kind = CollectiveCall::Kind;

constexpr const char* kRanksDiffer =
    "What replicas do may not depend on their data: look in the step for an if, a loop or a return "
    "that a value, the size of a batch or the replica's number decides, with a collective behind "
    "it (apply_gradients, losses and metrics have some, too).";

}  // namespace

int64_t CollectiveCall::count() const {
  int64_t total = 0;
  for (const Segment& segment : segments) total += segment.count;
  return total;
}

bool CollectiveCall::agrees(const CollectiveCall& other) const {
  return kind == other.kind && dtype == other.dtype && op == other.op && root == other.root &&
         std::ranges::equal(segments, other.segments, {}, &Segment::count, &Segment::count);
}

std::string CollectiveCall::text() const {
  constexpr const char* kKinds[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                    "barrier"};
  const char* name = kKinds[static_cast<int>(kind)];
  if (kind == Kind::Barrier) return name;
  if (!dtype) return fmt::format("{} of {} bytes, root {}", name, count(), root);
  return fmt::format("{} ({}) of {} {} in {} parts", name, name_of(op), count(), *dtype,
                     segments.size());
}

void require_agreement(int rank, const CollectiveCall& call, int other,
                       const CollectiveCall& theirs) {
  if (call.agrees(theirs)) return;
  raise<RanksDiffer>(
      "Collective: every rank must make the same calls in the same order, but rank {} calls {}, "
      "and rank {} {}. {}",
      other, theirs.text(), rank, call.text(), kRanksDiffer);
}

void raise_ended_without(int rank, const CollectiveCall& call) {
  raise<RanksDiffer>(
      "Collective: every rank must make the same calls in the same order, but rank {} calls {}, "
      "and another one's step has ended without it. {}",
      rank, call.text(), kRanksDiffer);
}

}  // namespace cornu
