// SPDX-License-Identifier: Apache-2.0
// A rank that runs out of memory within a collective: all ranks are notified, whichever allocation
// fails.
#include <doctest/doctest.h>

#include <new>

#include "framework/core/error.h"
#include "tests/strategy/ranks.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/limited_memory.h"

using namespace cornu;
using test::error_of;
using test::on_ranks;

namespace {

constexpr int kRanks = 3;

// The error of each rank when rank `poor` can make `pieces` allocations during `call`.
std::vector<std::string> texts(int poor, int pieces,
                               const std::function<void(CollectiveGroup&)>& call) {
  std::vector<std::string> result(kRanks);
  on_ranks(kRanks, [&](CollectiveGroup& end) {
    std::string& text = result[static_cast<size_t>(end.rank())];
    text = error_of([&] {
      try {
        const test::LimitedMemory limit(end.rank() == poor ? pieces : test::kUnlimited);
        call(end);
      } catch (const std::bad_alloc&) {
        throw ResourceExhausted("no memory");
      }
    });
    // As a run does with exceptions thrown by a step.
    if (!text.empty()) end.abort("no memory");
  });
  return result;
}

// Allows one more allocation each time until `call` succeeds. Returns how many it took.
int check_told(int poor, const std::function<void(CollectiveGroup&)>& call) {
  for (int pieces = 0;; ++pieces) {
    CAPTURE(pieces);
    const std::vector<std::string> told = texts(poor, pieces, call);
    if (told[static_cast<size_t>(poor)].empty()) return pieces;
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK(told[static_cast<size_t>(rank)] ==
            (rank == poor ? "ResourceExhausted: no memory"
                          : "Aborted: Collective: another replica has stopped: no memory"));
    }
  }
}

}  // namespace

TEST_CASE("a rank without memory for its part of a collective stops the others") {
  // Few elements, which every rank reduces by itself, and many, which the ranks divide among
  // themselves.
  for (const int64_t count : {int64_t{8}, int64_t{5000}}) {
    CAPTURE(count);
    for (int poor = 0; poor < kRanks; ++poor) {
      CAPTURE(poor);
      const std::vector<float> ones(static_cast<size_t>(count), 1);
      std::vector<std::vector<float>> sums(kRanks, std::vector<float>(ones.size()));
      const int pieces = check_told(poor, [&](CollectiveGroup& end) {
        end.all_reduce(ones.data(), sums[static_cast<size_t>(end.rank())].data(), count,
                       DType::Float32, ReduceOp::Sum);
      });
      CHECK(pieces > 1);  // the call's list of segments, and the working memory
      for (const auto& sum : sums) CHECK(sum == std::vector<float>(ones.size(), kRanks));
    }
  }
}
