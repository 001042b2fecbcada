// SPDX-License-Identifier: Apache-2.0
// Functions of elements on several threads: order, errors, early ends.
#include "data/transforms/parallel_map.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "data/iteration.h"
#include "data/sources/sources.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Element;
using data::StreamPtr;
using Numbers = std::vector<int64_t>;

namespace {

StreamPtr<Element> numbers_to(const data::NodePtr& node) { return node->elements({}); }

Element plus_hundred(const Element& element, int64_t) {
  return Tensor::scalar(element.tensor(0).item<int64_t>() + 100);
}

int64_t next_number(data::Stream<Element>& stream) {
  Element element;
  return stream.next(element) ? element.tensor(0).item<int64_t>() : -1;
}

}  // namespace

TEST_CASE("elements come in order, whoever is done first") {
  const auto node = data::make_range(0, 40, 1);
  std::promise<void> second_done;
  auto waited = second_done.get_future().share();
  const auto f = [&](const Element& element, int64_t number) {
    CHECK(element.tensor(0).item<int64_t>() == number);
    if (number == 0) waited.wait();  // the first one ends after the second
    if (number == 1) second_done.set_value();
    return plus_hundred(element, number);
  };
  const auto stream = data::make_parallel_map(numbers_to(node), f, 2);
  for (int64_t i = 0; i < 40; ++i) CHECK(next_number(*stream) == 100 + i);
  CHECK(next_number(*stream) == -1);
  CHECK(next_number(*stream) == -1);
}

TEST_CASE("an error comes at its element's place") {
  const auto node = data::make_range(0, 40, 1);
  for (const int64_t calls : {1, 2, 8}) {
    const auto f = [](const Element& element, int64_t number) {
      check<DataLoss>(number != 5, "the file of element {} is broken", number);
      return element;
    };
    const auto stream = data::make_parallel_map(numbers_to(node), f, calls);
    for (int64_t i = 0; i < 5; ++i) CHECK(next_number(*stream) == i);
    CHECK(message_of<DataLoss>([&] { next_number(*stream); }) == "the file of element 5 is broken");
  }
}

TEST_CASE("errors of functions say which element of which transform it was") {
  const auto places =
      data::Dataset::range(9).map([](const Tensor& x) { return ops::take(ops::arange(5), x); });
  for (const auto& dataset : {places, places.prefetch(2)}) {
    auto iterator = dataset.iterator();
    CHECK(numbers(iterator, 5) == Numbers{0, 1, 2, 3, 4});
    Element element;
    const std::string said = message_of([&] { iterator.next(element); });
    CHECK_MESSAGE(contains(said, "map, element 5: "), said);
  }
  const auto place = data::with_place(
      [](const Element&, int64_t) -> Element { raise<DataLoss>("reshape: it is broken"); }, "scan");
  CHECK(message_of<DataLoss>([&] { place({}, 7); }) == "scan, element 7: reshape: it is broken");
  const auto away = data::with_place(
      [](const Element&, int64_t) -> Element { raise<Unavailable>("no file server"); }, "map");
  CHECK(message_of<Unavailable>([&] { away({}, 7); }) == "map, element 7: no file server");
  const auto late = data::with_place(
      [](const Element&, int64_t) -> Element { raise<DeadlineExceeded>("too slow"); }, "map");
  CHECK(message_of<DeadlineExceeded>([&] { late({}, 7); }) == "map, element 7: too slow");
  const auto lost = data::with_place(
      [](const Element&, int64_t) -> Element { throw PeerLost(2, "host2:1", 3); }, "map");
  CHECK(message_of<PeerLost>([&] { lost({}, 7); }) == PeerLost(2, "host2:1", 3).what());
}

TEST_CASE("an error of what is mapped comes after what was before it") {
  const auto failing = data::make_generator(
      [] {
        return [i = int64_t{0}]() mutable -> std::optional<Element> {
          check<NotFound>(i < 7, "no element {}", i);
          return Tensor::scalar(i++);
        };
      },
      {});
  for (const int64_t calls : {1, 3}) {
    const auto stream = data::make_parallel_map(numbers_to(failing), plus_hundred, calls);
    for (int64_t i = 0; i < 7; ++i) CHECK(next_number(*stream) == 100 + i);
    CHECK(message_of<NotFound>([&] { next_number(*stream); }) == "no element 7");
  }
}

TEST_CASE("what is skipped isn't computed, but for what has begun") {
  const auto node = data::make_range(0, 1000, 1);
  for (const int64_t calls : {1, 4}) {
    std::atomic<int> computed = 0;
    const auto f = [&](const Element& element, int64_t number) {
      ++computed;
      return plus_hundred(element, number);
    };
    const auto stream = data::make_parallel_map(numbers_to(node), f, calls);
    CHECK(stream->skip(100) == 100);
    CHECK(computed == 0);
    CHECK(next_number(*stream) == 200);
    CHECK(stream->skip(3) == 3);
    CHECK(next_number(*stream) == 204);
    CHECK(stream->skip(500) == 500);
    CHECK(next_number(*stream) == 705);
    CHECK(stream->skip(1000) == 394);
    CHECK(next_number(*stream) == -1);
    CHECK(computed <= 3 + 3 * 2 * calls);
  }
}

TEST_CASE("streams end where they are left") {
  const auto node = data::make_range(0, 100'000, 1);
  for (int round = 0; round < 50; ++round) {
    const auto stream = data::make_parallel_map(numbers_to(node), plus_hundred, 8);
    for (int64_t i = 0; i < round; ++i) CHECK(next_number(*stream) == 100 + i);
  }
  // The same while a thread prefetches from them.
  const auto dataset =
      data::Dataset::range(100'000)
          .map([](const Tensor& x) { return x + int64_t{100}; }, {.num_parallel_calls = 4})
          .prefetch(2);
  for (int round = 0; round < 20; ++round) {
    auto iterator = dataset.iterator();
    CHECK(numbers(iterator, 1) == Numbers{100});
  }
}

TEST_CASE("a child of a fork says that the threads are its parent's") {
  const auto node = data::make_range(0, 100, 1);
  auto stream = data::make_parallel_map(numbers_to(node), plus_hundred, 2);
  CHECK(next_number(*stream) == 100);
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = message_of<FailedPrecondition>([&] { next_number(*stream); });
    stream.reset();  // must not wait for any thread
    _exit(contains(text, "map: this iteration was begun before the process forked") ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(next_number(*stream) == 101);
}

TEST_CASE("the pool is left out while the consumer never waits") {
  const data::Iteration iteration{{}};
  data::Pass pass;
  pass.iteration = &iteration;
  int64_t elsewhere = 0;
  const auto f = [&, here = std::this_thread::get_id()](const Element& element, int64_t number) {
    if (std::this_thread::get_id() != here) ++std::atomic_ref(elsewhere);
    return plus_hundred(element, number);
  };
  const auto node = data::make_range(0, 10'000, 1);
  const auto stream = data::make_parallel_map(numbers_to(node), f, 2, pass);
  CHECK(iteration.demand.is_watched());
  int64_t now = 0;
  int64_t next = 100;
  const auto take = [&](int64_t count, int64_t waiting) {
    for (const int64_t end = next + count; next < end; ++next) {
      CHECK(next_number(*stream) == next);
      now += 1'000'000'000;
      // The consumer is another thread, and this one prefetches for it.
      std::thread([&] { iteration.demand.given(now - waiting, now); }).join();
    }
  };
  take(60, 0);
  const int64_t before = std::atomic_ref(elsewhere);
  take(100, 0);
  CHECK(std::atomic_ref(elsewhere) == before);
  CHECK(stream->skip(3) == 3);
  next += 3;
  take(40, 500'000'000);
  take(400, 0);
  CHECK(next == 100 + 60 + 100 + 3 + 40 + 400);
}

TEST_CASE("random numbers don't depend on the number of threads") {
  const auto drawn = [](int64_t calls, int64_t skipped) {
    set_random_seed(9);
    return data::Dataset::range(30)
        .map(
            [](const Tensor& x) {
              return x * int64_t{1000} + ops::cast(random::randint({}, 0, 1000), "int64");
            },
            {.num_parallel_calls = calls})
        .skip(skipped);
  };
  const Numbers expected = numbers(drawn(1, 0));
  CHECK(numbers(drawn(2, 0)) == expected);
  CHECK(numbers(drawn(8, 0)) == expected);
  CHECK(numbers(drawn(8, 7)) == Numbers(expected.begin() + 7, expected.end()));
}

TEST_CASE("how many calls") {
  CHECK(data::resolve_parallel_calls({}, "map") == 1);
  CHECK(data::resolve_parallel_calls(3, "map") == 3);
  CHECK(data::resolve_parallel_calls(data::kAutotune, "map") == data::kAutotune);
  CHECK(message_of([] { data::resolve_parallel_calls(-2, "load"); }) ==
        "load: expected num_parallel_calls of at least 1, or data::kAutotune, got -2.");
}
