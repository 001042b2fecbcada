// SPDX-License-Identifier: Apache-2.0
// A rank that runs out of memory within a collective: all ranks are notified, whichever allocation
// fails.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "framework/core/error.h"
#include "tests/strategy/ranks.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;
using test::on_ranks;

namespace {

constexpr int kNever = -1;

thread_local int left = kNever;  // allocations left for this thread

bool is_refused() {
  if (left == kNever) return false;
  return left == 0 || left-- == 0;
}

// While an object of this class exists, this thread can make at most this many allocations.
class LimitedMemory {
 public:
  explicit LimitedMemory(int pieces) { left = pieces; }
  ~LimitedMemory() { left = kNever; }
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;
};

}  // namespace

// Not inlined: g++ would warn that memory from new is passed to free.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return is_refused() ? nullptr : std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = operator new(bytes, std::nothrow);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

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
        const LimitedMemory limit(end.rank() == poor ? pieces : kNever);
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
