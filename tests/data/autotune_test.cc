// SPDX-License-Identifier: Apache-2.0
// AUTOTUNE's choices, and that nothing else depends on them.
#include "data/autotune.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using data::TunedBuffer;
using data::TunedCalls;
using data::TunedThreads;
using Numbers = std::vector<int64_t>;

namespace {

constexpr int64_t kLong = 1'000'000;  // nanoseconds

const data::MapOptions kTunedOnHost = {
    .num_parallel_calls = data::kAutotune,
    .output_signature = data::ElementSpec{.types = {{DType::Int64, Shape{}}}, .structure = {}},
    .traced = false};

void take(TunedCalls& calls, const TunedCalls::Taken& taken, int times) {
  for (int i = 0; i < times; ++i) calls.took(taken);
}

}  // namespace

TEST_CASE("a buffer grows when it is empty after having been full") {
  TunedBuffer buffer;
  CHECK(buffer.size() == 2);
  buffer.asked(0, true);  // never full: its producer is too slow, and more room doesn't help
  CHECK(buffer.size() == 2);
  buffer.asked(2, true);
  buffer.asked(1, true);
  CHECK(buffer.size() == 2);
  buffer.asked(0, true);
  CHECK(buffer.size() == 4);
  buffer.asked(0, true);
  buffer.asked(2, true);
  buffer.asked(0, true);
  CHECK(buffer.size() == 4);
  buffer.asked(4, true);
  buffer.asked(0, false);  // no memory
  CHECK(buffer.size() == 4);
  buffer.asked(0, true);
  CHECK(buffer.size() == 8);
  for (int i = 0; i < 20; ++i) {
    buffer.asked(buffer.size(), true);
    buffer.asked(0, true);
  }
  CHECK(buffer.size() == TunedBuffer::kMax);
}

TEST_CASE("threads of an interleave come where they are worth it, and while they are waited for") {
  TunedThreads quick(4);
  for (int i = 0; i < 100; ++i) quick.took(2'000);
  CHECK(quick.threads() == 0);
  quick.took(1'000'000'000);  // an outlier: the thread had no core
  CHECK(quick.threads() == 0);
  for (int i = 0; i < 100; ++i) quick.took(50'000);
  CHECK(quick.threads() == 1);
  quick.waited(false);
  CHECK(quick.threads() == 1);
  for (int i = 0; i < 10; ++i) quick.waited(true);
  CHECK(quick.threads() == 4);
  TunedThreads single(1);  // would only take turns with the thread that waits for it
  for (int i = 0; i < 100; ++i) single.took(50'000);
  CHECK(single.threads() == 0);
}

TEST_CASE("calls grow while the consumer waits and threads are idle") {
  TunedCalls calls(8);
  CHECK(calls.ahead() == 8);
  take(calls, {.nanoseconds = kLong, .waited = true, .threads_idle = false}, 5);
  CHECK(calls.ahead() == 8);
  take(calls, {.nanoseconds = kLong, .waited = true, .threads_idle = true, .room = false}, 5);
  CHECK(calls.ahead() == 8);
  take(calls, {.nanoseconds = kLong, .waited = true, .threads_idle = true}, 3);
  CHECK(calls.ahead() == 11);
  take(calls, {.nanoseconds = kLong, .waited = true, .threads_idle = true}, 50);
  CHECK(calls.ahead() == 16);
}

TEST_CASE("calls shrink while results lie about") {
  TunedCalls calls(4);
  take(calls, {.nanoseconds = kLong, .all_done = true}, 15);
  take(calls, {.nanoseconds = kLong, .all_done = false}, 1);
  take(calls, {.nanoseconds = kLong, .all_done = true}, 15);
  CHECK(calls.ahead() == 4);
  take(calls, {.nanoseconds = kLong, .all_done = true}, 1);
  CHECK(calls.ahead() == 3);
  take(calls, {.nanoseconds = kLong, .all_done = true}, 1000);
  CHECK(calls.ahead() == 2);
}

TEST_CASE("small tasks are done where they are asked for, until they are larger") {
  TunedCalls calls(4);
  take(calls, {.nanoseconds = 200, .waited = true}, 1000);
  CHECK(calls.ahead() == 0);
  take(calls, {.nanoseconds = kLong}, 1);  // an outlier: the thread had no core
  CHECK(calls.ahead() == 0);
  take(calls, {.nanoseconds = 7'000}, 1000);
  CHECK(calls.ahead() == 0);
  take(calls, {.nanoseconds = 50'000}, 100);
  CHECK(calls.ahead() > 0);
}

TEST_CASE("what a consumer does is averaged") {
  data::Demand demand;
  CHECK(!demand.is_watched());
  demand.watch();
  CHECK(demand.is_watched());
  CHECK(!demand.is_consumer());
  demand.given(0, 500);  // the first one says nothing about the time between two
  CHECK(demand.is_consumer());
  CHECK(demand.period() == 0);
  demand.given(900, 1000);
  CHECK(demand.period() == 500);
  CHECK(demand.waiting() == 100);
  for (int64_t i = 1; i <= 100; ++i) demand.given(1000 * i + 900, 1000 * i + 1000);
  CHECK(demand.elements() == 102);
  CHECK(demand.period() > 950);
  CHECK(demand.waiting() == 100);
  bool other = true;
  std::thread([&] { other = demand.is_consumer(); }).join();
  CHECK(!other);
}

TEST_CASE("threads aren't needed for a consumer that never waits") {
  // Elements requested every millisecond, after `waiting` nanoseconds of waiting.
  int64_t now = 0;
  data::Demand demand;
  data::NeedOfThreads need;
  const auto steps = [&](int64_t count, int64_t waiting, int64_t work, bool alone = true) {
    for (int64_t i = 0; i < count; ++i) {
      now += kLong;
      demand.given(now - waiting, now);
      need.worked(work, demand, alone);
    }
  };
  CHECK(need.is_needed());
  steps(40, 0, 700'000);  // a single thread would barely keep up
  CHECK(need.is_needed());
  steps(40, 0, 100'000, /*alone=*/false);  // the thread would be the consumer's own
  CHECK(need.is_needed());
  steps(40, 0, 100'000);
  CHECK(!need.is_needed());
  steps(40, 0, 100'000);
  CHECK(!need.is_needed());
  steps(40, 400'000, 100'000);
  CHECK(need.is_needed());
  steps(16, 0, 100'000);  // the average falls, but working without threads isn't retried right away
  CHECK(need.is_needed());
  steps(100, 0, 100'000);
  CHECK(!need.is_needed());
}

TEST_CASE("a memory budget counts bytes") {
  data::MemoryBudget budget(100);
  CHECK(budget.has_room(100));
  CHECK(!budget.has_room(101));
  budget.add(60);
  CHECK(budget.has_room(40));
  CHECK(!budget.has_room(41));
  budget.add(60);
  CHECK(!budget.has_room());
  budget.add(-120);
  CHECK(budget.used() == 0);
  CHECK(data::available_memory() > 0);
  CHECK(data::MemoryBudget(0).has_room(1));
  CHECK(data::bytes_of({Tensor::empty({3, 4}, DType::Float32), Tensor::scalar(int64_t{1})}) ==
        3 * 4 * 4 + 8);
  CHECK(data::bytes_of(Element(Tensor::scalar(std::string(1000, 'x')))) >= 1000);
}

TEST_CASE("the same elements and positions whatever is chosen") {
  const auto f = [](const Tensor& x) { return Tensor::scalar(3 * x.item<int64_t>()); };
  const auto make = [&](const data::AutotuneOptions& how) {
    return Dataset::range(40)
        .map(f, kTunedOnHost)
        .shuffle(6, {.seed = 4, .reshuffle_each_iteration = false})
        .map(f, kTunedOnHost)
        .prefetch(data::kAutotune)
        .batch(3)
        .prefetch(data::kAutotune)
        .with_options({.autotune = how});
  };
  const Numbers expected = numbers(make({.enabled = false}));
  CHECK(expected.size() == 40);
  for (const auto& how : {data::AutotuneOptions{}, data::AutotuneOptions{.cpu_budget = 1},
                          data::AutotuneOptions{.ram_budget = 1}}) {
    const Dataset dataset = make(how);
    CHECK(numbers(dataset) == expected);
    for (int64_t taken = 0; taken <= 14; ++taken) {
      auto iterator = dataset.iterator();
      const Numbers first = numbers(iterator, taken);
      auto other = make({.enabled = taken % 2 == 0}).iterator();
      other.restore(iterator.save());
      Numbers all = first;
      for (const int64_t number : numbers(other)) all.push_back(number);
      CHECK(all == expected);
    }
  }
}

TEST_CASE("a full budget holds buffers to one element") {
  std::atomic<int64_t> asked = 0;
  std::atomic<bool> was_ahead = false;
  const auto next = [&, number = int64_t{0}]() mutable -> std::optional<Element> {
    if (number == 200) return std::nullopt;
    // All earlier elements should have been requested by now.
    if (number > asked) was_ahead = true;
    return Tensor::scalar(number++);
  };
  const data::ElementSpec scalars{.types = {{DType::Int64, Shape{}}}, .structure = {}};
  const Dataset dataset = Dataset::from_generator(next, {.output_signature = scalars})
                              .prefetch(data::kAutotune)
                              .with_options({.autotune = {.ram_budget = 1}});
  auto iterator = dataset.iterator();
  Element element;
  for (++asked; iterator.next(element); ++asked) {
  }
  CHECK(asked == 201);
  CHECK(!was_ahead);
}
