// SPDX-License-Identifier: Apache-2.0
// The communicator between threads, without graphs: every operation, 1 to 4 ranks, any size.
#include "framework/strategy/in_process_group.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "framework/core/error.h"
#include "framework/core/random.h"
#include "tests/strategy/ranks.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;
using test::on_ranks;

namespace {

constexpr int kMaxRanks = 4;
constexpr int64_t kSizes[] = {0, 1, 7, 127, 1000, 2053};

// Element `i` of a rank's input: small integers, or uneven fractions.
template <class T>
T element(int rank, int64_t i) {
  const auto number = static_cast<int>((i * 7 + rank * 3) % 11);
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(number) / 3;
  return static_cast<T>(number);
}

template <class T>
std::vector<T> input(int rank, int64_t count) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(element<T>(rank, i));
  return values;
}

// The result of a reduction in rank order.
template <class T>
std::vector<T> reduced(int ranks, int64_t count, ReduceOp op) {
  std::vector<T> result = input<T>(0, count);
  for (int64_t i = 0; i < count; ++i) {
    T& value = result[static_cast<size_t>(i)];
    for (int rank = 1; rank < ranks; ++rank) {
      const T other = element<T>(rank, i);
      if (op == ReduceOp::Min) {
        value = std::min(value, other);
      } else if (op == ReduceOp::Max) {
        value = std::max(value, other);
      } else {
        value = static_cast<T>(value + other);
      }
    }
    if (op == ReduceOp::Mean) value = static_cast<T>(value / static_cast<T>(ranks));
  }
  return result;
}

// All four reductions on one group, in place and not in place.
template <class T>
void check_all_reduce(int ranks, int64_t count) {
  std::atomic<int> wrong = 0;
  on_ranks(ranks, [&](CollectiveGroup& end) {
    const std::vector<T> mine = input<T>(end.rank(), count);
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max}) {
      std::vector<T> out(mine.size());
      end.all_reduce(mine.data(), out.data(), count, dtype_of<T>, op);
      std::vector<T> in_place = mine;
      end.all_reduce(in_place.data(), in_place.data(), count, dtype_of<T>, op);
      const std::vector<T> expected = reduced<T>(ranks, count, op);
      wrong += out != expected || in_place != expected;
    }
  });
  CHECK(wrong == 0);
}

// With sizes for which results are written past the cache, to unaligned addresses.
template <class T>
void check_large_all_reduce(int ranks, int64_t count, size_t offset) {
  std::atomic<int> wrong = 0;
  const std::vector<T> expected = reduced<T>(ranks, count, ReduceOp::Sum);
  on_ranks(ranks, [&](CollectiveGroup& end) {
    const std::vector<T> mine = input<T>(end.rank(), count);
    std::vector<T> out(mine.size() + offset + 1, T{1});
    end.all_reduce(mine.data(), out.data() + offset, count, dtype_of<T>, ReduceOp::Sum);
    std::vector<T> in_place = mine;
    end.all_reduce(in_place.data(), in_place.data(), count, dtype_of<T>, ReduceOp::Sum);
    wrong += in_place != expected || out.front() != (offset == 0 ? expected.front() : T{1}) ||
             out.back() != T{1} ||
             !std::equal(expected.begin(), expected.end(),
                         out.begin() + static_cast<std::ptrdiff_t>(offset));
  });
  CHECK(wrong == 0);
}

template <class T>
void check_reduce_scatter(int ranks, int64_t count) {
  std::atomic<int> wrong = 0;
  on_ranks(ranks, [&](CollectiveGroup& end) {
    const std::vector<T> mine = input<T>(end.rank(), count * ranks);
    std::vector<T> out(static_cast<size_t>(count));
    end.reduce_scatter(mine.data(), out.data(), count, dtype_of<T>, ReduceOp::Sum);
    const std::vector<T> all = reduced<T>(ranks, count * ranks, ReduceOp::Sum);
    const auto begin = all.begin() + end.rank() * count;
    wrong += out != std::vector<T>(begin, begin + count);
  });
  CHECK(wrong == 0);
}

template <class T>
void check_gather_and_broadcast(int ranks, int64_t count) {
  std::atomic<int> wrong = 0;
  on_ranks(ranks, [&](CollectiveGroup& end) {
    const std::vector<T> mine = input<T>(end.rank(), count);
    const size_t bytes = mine.size() * sizeof(T);
    std::vector<T> gathered(mine.size() * static_cast<size_t>(ranks));
    end.all_gather(mine.data(), gathered.data(), bytes);
    std::vector<T> expected;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<T> other = input<T>(rank, count);
      expected.insert(expected.end(), other.begin(), other.end());
    }
    wrong += gathered != expected;
    for (int root = 0; root < ranks; ++root) {
      std::vector<T> data = mine;
      end.broadcast(data.data(), bytes, root);
      wrong += data != input<T>(root, count);
    }
    end.barrier();
  });
  CHECK(wrong == 0);
}

template <class T>
void check_dtype() {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    for (const int64_t count : kSizes) {
      CAPTURE(ranks);
      CAPTURE(count);
      check_all_reduce<T>(ranks, count);
      check_reduce_scatter<T>(ranks, count);
      check_gather_and_broadcast<T>(ranks, count);
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("every operation gives every rank the same bits", T, float, double, int8_t,
                   uint8_t, int32_t, int64_t, uint32_t, uint64_t) {
  check_dtype<T>();
}

TEST_CASE("all_reduce of more than caches hold") {
  for (const int ranks : {1, 2, 3}) {
    check_large_all_reduce<float>(ranks, 1'100'003, 0);
    check_large_all_reduce<float>(ranks, 1'100'003, 1);
    check_large_all_reduce<double>(ranks, 600'001, 1);
    check_large_all_reduce<int8_t>(ranks, 4'300'001, 3);
  }
}

TEST_CASE("the ends of a group know their ranks") {
  const auto group = make_in_process_group(3);
  REQUIRE(group.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(group[static_cast<size_t>(rank)]->rank() == rank);
    CHECK(group[static_cast<size_t>(rank)]->size() == 3);
  }
}

TEST_CASE("minimum and maximum hand NaN on, whichever rank has it") {
  for (int with_nan = 0; with_nan < 3; ++with_nan) {
    std::atomic<int> wrong = 0;
    on_ranks(3, [&](CollectiveGroup& end) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      const float mine = end.rank() == with_nan ? nan : static_cast<float>(end.rank());
      for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max, ReduceOp::Sum}) {
        float out = 0;
        end.all_reduce(&mine, &out, 1, DType::Float32, op);
        wrong += !std::isnan(out);
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("a barrier holds everyone until the last one comes") {
  std::atomic<int> arrived = 0;
  std::atomic<int> early = 0;
  on_ranks(kMaxRanks, [&](CollectiveGroup& end) {
    for (int round = 1; round <= 100; ++round) {
      ++arrived;
      end.barrier();
      early += arrived < round * kMaxRanks;
      end.barrier();
    }
  });
  CHECK(early == 0);
}

TEST_CASE("16-bit floating-point numbers are summed in float32, and rounded once") {
  std::atomic<int> wrong = 0;
  on_ranks(3, [&](CollectiveGroup& end) {
    const float parts[] = {256.0F, 1.0F, 1.0F};  // a bfloat16 sum of two parts would drop each 1
    bfloat16 value(parts[end.rank()]);
    end.all_reduce(&value, &value, 1, DType::BFloat16, ReduceOp::Sum);
    wrong += static_cast<float>(value) != 258.0F;
    float16 half(parts[end.rank()]);
    end.all_reduce(&half, &half, 1, DType::Float16, ReduceOp::Mean);
    wrong += static_cast<float>(half) != 86.0F;
  });
  CHECK(wrong == 0);
}

TEST_CASE("segments are reduced together, in place and not, whatever their sizes") {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    std::atomic<int> wrong = 0;
    on_ranks(ranks, [&](CollectiveGroup& end) {
      std::vector<std::vector<double>> in;
      std::vector<std::vector<double>> out;
      for (const int64_t count : {3, 0, 64, 1, 1025, 0, 131}) {
        in.push_back(input<double>(end.rank(), count));
        out.emplace_back(static_cast<size_t>(count));
      }
      std::vector<Segment> segments;
      for (size_t i = 0; i < in.size(); ++i) {
        void* to = i % 2 ? in[i].data() : out[i].data();
        segments.push_back({in[i].data(), to, static_cast<int64_t>(in[i].size())});
      }
      end.all_reduce(segments, DType::Float64, ReduceOp::Mean);
      for (size_t i = 0; i < in.size(); ++i) {
        const auto expected = reduced<double>(ranks, segments[i].count, ReduceOp::Mean);
        wrong += (i % 2 ? in[i] : out[i]) != expected;
      }
    });
    CAPTURE(ranks);
    CHECK(wrong == 0);
  }
}

TEST_CASE("ranks that make different calls are all told so") {
  std::vector<std::string> texts(3);
  on_ranks(3, [&](CollectiveGroup& end) {
    float values[4] = {};
    texts[static_cast<size_t>(end.rank())] = error_of([&] {
      end.all_reduce(values, values, end.rank() == 2 ? 3 : 4, DType::Float32, ReduceOp::Sum);
    });
  });
  for (const std::string& text : texts) {
    CHECK(text ==
          "FailedPrecondition: Collective: every rank must make the same calls in the same order, "
          "but rank 0 calls all_reduce (sum) of 4 float32 in 1 parts, and rank 2 all_reduce (sum) "
          "of 3 float32 in 1 parts. What replicas do may not depend on their data: look in the "
          "step for an if, a loop "
          "or a return that a value, the size of a batch or the replica's number decides, with a "
          "collective behind it (apply_gradients, losses and metrics have some, too).");
  }
  on_ranks(3, [&](CollectiveGroup& end) {
    float value = 0;
    texts[static_cast<size_t>(end.rank())] = error_of([&] {
      if (end.rank() == 1) return end.barrier();
      end.broadcast(&value, sizeof(value), 0);
    });
  });
  for (const std::string& text : texts) {
    CHECK(text.find("rank 0 calls broadcast of 4 bytes, root 0, and rank 1 barrier.") !=
          std::string::npos);
  }
}

TEST_CASE("a rank that waits too long names those it waits for") {
  const auto group = make_in_process_group(3, {.timeout = std::chrono::milliseconds(1)});
  const std::string text = "Collective: rank 1 waited 0.001 s in barrier for rank 0, rank 2.";
  CHECK(error_of([&] { group[1]->barrier(); }) == "DeadlineExceeded: " + text);
  // The group is unusable now: rank 1 may be anywhere.
  CHECK(error_of([&] { group[0]->barrier(); }) ==
        "Aborted: Collective: another replica has stopped: " + text);
}

TEST_CASE("an abort without a reason is one") {
  const auto group = make_in_process_group(2);
  std::string text;
  std::thread waits([&] { text = error_of([&] { group[0]->barrier(); }); });
  group[1]->abort("");
  waits.join();
  CHECK(text == "Aborted: Collective: another replica has stopped: ");
}

TEST_CASE("dtypes that can't be reduced are named") {
  const auto group = make_in_process_group(1);
  uint16_t value = 0;
  CHECK(error_of([&] { group[0]->all_reduce(&value, &value, 1, DType::Bool, ReduceOp::Sum); }) ==
        "Unimplemented: Collective: no reduction of bool. Cast it to int32.");
}

TEST_CASE("abort wakes the ranks that wait, and those that come later") {
  const auto group = make_in_process_group(3);
  const std::string expected = "Aborted: Collective: another replica has stopped: disk on fire";
  std::string first;
  std::string second;
  float value = 1;
  std::thread waits([&] { first = error_of([&] { group[0]->barrier(); }); });
  std::thread reduces([&] {
    second =
        error_of([&] { group[1]->all_reduce(&value, &value, 1, DType::Float32, ReduceOp::Sum); });
  });
  group[2]->abort("disk on fire");
  group[2]->abort("and a second reason");
  waits.join();
  reduces.join();
  CHECK(first == expected);
  CHECK(second == expected);
  CHECK(value == 1);
  CHECK(error_of([&] { group[2]->barrier(); }) == expected);
  CHECK(error_of([&] { group[0]->broadcast(&value, sizeof(value), 0); }) == expected);
}
