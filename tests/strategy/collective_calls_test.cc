// SPDX-License-Identifier: Apache-2.0
// Reductions between threads that proceed while the threads continue.
#include "framework/strategy/collective_calls.h"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>

#include "framework/core/error.h"
#include "tests/strategy/ranks.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;
using test::on_ranks;

namespace {

std::vector<double> input(int rank, int64_t count, int64_t round) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>((i * 7 + rank * 3 + round) % 11) / 3);
  }
  return values;
}

// Summed in rank order.
std::vector<double> sum(int ranks, int64_t count, int64_t round) {
  std::vector<double> result = input(0, count, round);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<double> other = input(rank, count, round);
    for (size_t i = 0; i < result.size(); ++i) result[i] += other[i];
  }
  return result;
}

struct RankTensors {
  std::vector<std::vector<double>> in;
  std::vector<std::vector<double>> out;

  RankTensors(int rank, int64_t round, const std::vector<int64_t>& counts) {
    for (const int64_t count : counts) {
      in.push_back(input(rank, count, round));
      out.emplace_back(static_cast<size_t>(count));
    }
  }
  // Every second one in place.
  std::vector<Segment> segments() {
    std::vector<Segment> result;
    for (size_t i = 0; i < in.size(); ++i) {
      void* to = i % 2 ? in[i].data() : out[i].data();
      result.push_back({in[i].data(), to, static_cast<int64_t>(in[i].size())});
    }
    return result;
  }
  bool are_sums(int ranks, int64_t round) const {
    for (size_t i = 0; i < in.size(); ++i) {
      const auto& got = i % 2 ? in[i] : out[i];
      if (got != sum(ranks, static_cast<int64_t>(got.size()), round)) return false;
    }
    return true;
  }
};

const std::vector<int64_t> kCounts = {3, 0, 64, 1, 1025, 0, 131};

}  // namespace

TEST_CASE("reductions that are under way together give every rank the sums") {
  for (const Reducers reducers : {Reducers::All, Reducers::First}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      CAPTURE(ranks);
      std::atomic<int> wrong = 0;
      on_ranks(ranks,
               [&](CollectiveGroup& end) {
                 for (int64_t round = 0; round < 20; ++round) {
                   std::vector<RankTensors> under_way;
                   std::vector<int64_t> tickets;
                   const int64_t many = 1 + round % 4;
                   for (int64_t k = 0; k < many; ++k) {
                     under_way.emplace_back(end.rank(), round + k, kCounts);
                     tickets.push_back(end.start_all_reduce(under_way.back().segments(),
                                                            DType::Float64, ReduceOp::Sum));
                     if (round % ranks == end.rank()) std::this_thread::yield();
                   }
                   // Ranks look at their results in different orders.
                   for (int64_t k = 0; k < many; ++k) {
                     const auto at = static_cast<size_t>(end.rank() % 2 ? k : many - 1 - k);
                     end.await(tickets[at]);
                     wrong += !under_way[at].are_sums(ranks, round + static_cast<int64_t>(at));
                   }
                 }
               },
               {.reducers = reducers});
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("very many may be under way") {
  std::atomic<int> wrong = 0;
  on_ranks(3, [&](CollectiveGroup& end) {
    std::vector<RankTensors> under_way;
    int64_t last = 0;
    under_way.reserve(300);
    for (int64_t k = 0; k < 300; ++k) {
      under_way.emplace_back(end.rank(), k, std::vector<int64_t>{5, k});
      last = end.start_all_reduce(under_way.back().segments(), DType::Float64, ReduceOp::Sum);
    }
    end.await(last);  // and all before it
    for (int64_t k = 0; k < 300; ++k) wrong += !under_way[static_cast<size_t>(k)].are_sums(3, k);
  });
  CHECK(wrong == 0);
}

TEST_CASE("whoever has awaited a later call may write over the results of earlier ones") {
  std::atomic<int> wrong = 0;
  on_ranks(3, [&](CollectiveGroup& end) {
    for (int64_t round = 0; round < 60; ++round) {
      RankTensors large(end.rank(), round, {50000});
      RankTensors small(end.rank(), round, {4});
      end.start_all_reduce(large.segments(), DType::Float64, ReduceOp::Sum);
      end.await(end.start_all_reduce(small.segments(), DType::Float64, ReduceOp::Sum));
      wrong += !large.are_sums(3, round) || !small.are_sums(3, round);
      large.out[0].assign(50000, -1);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("who waits in another call still does its share") {
  std::atomic<int> wrong = 0;
  on_ranks(2, [&](CollectiveGroup& end) {
    RankTensors tensors(end.rank(), 0, kCounts);
    const int64_t ticket = end.start_all_reduce(tensors.segments(), DType::Float64, ReduceOp::Sum);
    // Rank 0 asks for the result first; rank 1 contributes while it waits in the barrier.
    if (end.rank() == 0) end.await(ticket);
    end.barrier();
    if (end.rank() == 1) end.await(ticket);
    wrong += !tensors.are_sums(2, 0);
  });
  CHECK(wrong == 0);
}

TEST_CASE("ranks that start different reductions are all told so") {
  std::vector<std::string> texts(3);
  on_ranks(3, [&](CollectiveGroup& end) {
    const int64_t count = end.rank() == 2 ? 3 : 4;
    RankTensors tensors(end.rank(), 0, {count});
    texts[static_cast<size_t>(end.rank())] = error_of([&] {
      end.await(end.start_all_reduce(tensors.segments(), DType::Float64, ReduceOp::Sum));
    });
  });
  for (const std::string& text : texts) {
    CHECK(text ==
          "FailedPrecondition: Collective: every rank must make the same calls in the same order, "
          "but rank 0 calls all_reduce (sum) of 4 float64 in 1 parts, and rank 2 all_reduce (sum) "
          "of 3 float64 in 1 parts. What replicas do may not depend on their data: look in the "
          "step for an if, a loop "
          "or a return that a value, the size of a batch or the replica's number decides, with a "
          "collective behind it (apply_gradients, losses and metrics have some, too).");
  }
}

TEST_CASE("whoever ends the step without a reduction that another one started") {
  std::string text;
  on_ranks(2, [&](CollectiveGroup& end) {
    if (end.rank() == 1) return end.end_step();
    RankTensors tensors(0, 0, {4});
    text = error_of([&] {
      end.await(end.start_all_reduce(tensors.segments(), DType::Float64, ReduceOp::Sum));
    });
  });
  CHECK(
      text ==
      "FailedPrecondition: Collective: every rank must make the same calls in the same order, but "
      "rank 0 calls all_reduce (sum) of 4 float64 in 1 parts, and another one's step has ended "
      "without it. What replicas do may not depend on their data: look in the step for an if, a "
      "loop "
      "or a return that a value, the size of a batch or the replica's number decides, with a "
      "collective behind it (apply_gradients, losses and metrics have some, too).");
}

TEST_CASE("a reduction that nobody joins ends with its deadline") {
  const auto group = make_in_process_group(3, {.timeout = std::chrono::milliseconds(1)});
  RankTensors tensors(1, 0, {4});
  const std::string text =
      "Collective: rank 1 waited 0.001 s in all_reduce (sum) of 4 float64 in 1 parts for rank 0, "
      "rank 2.";
  CHECK(error_of([&] {
          group[1]->await(
              group[1]->start_all_reduce(tensors.segments(), DType::Float64, ReduceOp::Sum));
        }) == "DeadlineExceeded: " + text);
  CHECK(error_of([&] {
          group[0]->start_all_reduce(tensors.segments(), DType::Float64, ReduceOp::Sum);
        }) == "Aborted: Collective: another replica has stopped: " + text);
}

TEST_CASE("abort wakes those who await, and nobody reads memory behind it") {
  const std::string stopped = "Aborted: Collective: another replica has stopped: disk on fire";
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    std::vector<std::string> texts(3);
    on_ranks(3, [&](CollectiveGroup& end) {
      RankTensors tensors(end.rank(), 0, {100000});
      texts[static_cast<size_t>(end.rank())] = error_of([&] {
        const bool fails = end.rank() == 2;
        if (fails && round % 2) throw Internal("disk on fire");
        const int64_t ticket =
            end.start_all_reduce(tensors.segments(), DType::Float64, ReduceOp::Sum);
        if (fails) throw Internal("disk on fire");
        end.await(ticket);
      });
      if (!texts[static_cast<size_t>(end.rank())].empty()) end.abort("disk on fire");
    });
    CHECK(texts[2] == "Internal: disk on fire");
    for (size_t rank = 0; rank < 2; ++rank) {
      // If the last rank has done its part, the sums are complete.
      CHECK((texts[rank] == stopped || (round % 2 == 0 && texts[rank].empty())));
    }
  }
}

TEST_CASE("bool has no reduction that could be started") {
  const auto group = make_in_process_group(1);
  uint16_t value = 0;
  const Segment segment{&value, &value, 1};
  CHECK(error_of([&] {
          group[0]->start_all_reduce({&segment, 1}, DType::Bool, ReduceOp::Sum);
        }) == "Unimplemented: Collective: no reduction of bool. Cast it to int32.");
}
