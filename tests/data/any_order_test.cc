// SPDX-License-Identifier: Apache-2.0
// Maps that yield elements as soon as they are ready, in any order.
#include <doctest/doctest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <numeric>
#include <optional>

#include "data/node.h"
#include "framework/ops/math.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;

namespace {

using Numbers = std::vector<int64_t>;

data::MapOptions any_order(int64_t calls) {
  return {.num_parallel_calls = calls, .deterministic = false};
}

Numbers sorted(Numbers values) {
  std::sort(values.begin(), values.end());
  return values;
}

Numbers up_to(int64_t count) {
  Numbers values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

TEST_CASE("where the order doesn't matter, elements come as they are ready") {
  // The function of element 1, once another thread has begun it, returns only after three other
  // elements have been yielded.
  std::promise<void> begun;
  std::promise<void> others_given;
  const auto wait = [&begun, given = others_given.get_future().share()](const Tensor& x) {
    if (x.item<int64_t>() == 1) {
      begun.set_value();
      given.wait();
    }
    return x;
  };
  data::MapOptions options = any_order(2);
  options.traced = false;
  options.output_signature = data::spec_of(Tensor::scalar(int64_t{0}));
  auto iterator = Dataset::range(6).map(wait, options).iterator();
  Numbers given = numbers(iterator, 1);
  begun.get_future().wait();
  for (const int64_t number : numbers(iterator, 2)) given.push_back(number);
  CHECK(std::count(given.begin(), given.end(), 1) == 0);
  others_given.set_value();
  for (const int64_t number : numbers(iterator)) given.push_back(number);
  CHECK(sorted(given) == up_to(6));
}

TEST_CASE("options let all maps give elements as they are ready that don't say otherwise") {
  const auto seen = [](std::optional<bool> map, std::optional<bool> all) {
    // The function of element 0 returns only after that of element 1 has begun on another thread.
    const auto done = std::make_shared<std::promise<void>>();
    const auto wait = [done, over = done->get_future().share()](const Tensor& x) {
      if (x.item<int64_t>() == 0) over.wait();
      if (x.item<int64_t>() == 1) done->set_value();
      return x;
    };
    data::MapOptions options = any_order(2);
    options.deterministic = map;
    options.traced = false;
    options.output_signature = data::spec_of(Tensor::scalar(int64_t{0}));
    return numbers(Dataset::range(2).map(wait, options).with_options({.deterministic = all}));
  };
  CHECK(seen({}, {}) == Numbers{0, 1});
  CHECK(seen({}, true) == Numbers{0, 1});
  CHECK(seen(true, false) == Numbers{0, 1});
  CHECK(sorted(seen({}, false)) == up_to(2));
  // Which element is ready first is up to chance; a position records what was allowed.
  const Dataset mapped = Dataset::range(20)
                             .map([](const Tensor& x) { return x * 2; }, {.num_parallel_calls = 3})
                             .map([](const Tensor& x) { return x + 1; }, {.num_parallel_calls = 3});
  const Dataset any = mapped.with_options({.deterministic = false});
  auto iterator = any.iterator();
  Numbers all = numbers(iterator, 7);
  const Json position = iterator.save();
  CHECK(position.dump().find("begun") != std::string::npos);
  CHECK_THROWS_AS(mapped.with_options({}).iterator().restore(position), FailedPrecondition);
  auto restored = any.iterator();
  restored.restore(position);
  for (const int64_t number : numbers(restored)) all.push_back(number);
  CHECK(sorted(all) == sorted(numbers(mapped)));
}

TEST_CASE("a position among elements in any order leaves none out and gives none twice") {
  const auto same = [](const Tensor& x) { return x; };
  for (const int64_t calls : {int64_t{1}, int64_t{3}, data::kAutotune}) {
    const Dataset mapped = Dataset::range(30).map(same, any_order(calls));
    const Dataset all_kinds = Dataset::range(15)
                                  .filter([](const Tensor& x) { return x >= 0; })
                                  .map(same, any_order(calls))
                                  .repeat(2)
                                  .map([](const Tensor& x) { return x * 1; }, any_order(calls))
                                  .batch(4)
                                  .prefetch(2);
    for (const Dataset& dataset : {mapped, all_kinds}) {
      const Numbers expected = sorted(numbers(dataset));
      CHECK(expected.size() == 30);
      for (int64_t taken = 0; taken < 9; ++taken) {
        auto iterator = dataset.iterator();
        Numbers all = numbers(iterator, taken);
        auto restored = dataset.iterator();
        restored.restore(Json::parse(iterator.save().dump()));
        for (const int64_t number : numbers(restored, 3)) all.push_back(number);
        auto again = dataset.iterator();
        again.restore(restored.save());
        for (const int64_t number : numbers(again)) all.push_back(number);
        CHECK(sorted(all) == expected);
      }
    }
  }
}

TEST_CASE("batches in any order: none is left out, and none comes twice") {
  for (const bool by_rows : {true, false}) {
    const Dataset dataset = (by_rows ? rows_to(30) : Dataset::range(30).filter([](const Tensor& x) {
                              return x >= 0;
                            })).batch(4, {.num_parallel_calls = 3, .deterministic = false});
    CHECK(data::describe_chain(*dataset.node()).ends_with("batch(4, in any order)"));
    for (int64_t taken = 0; taken < 9; ++taken) {
      auto iterator = dataset.iterator();
      Numbers all = numbers(iterator, taken);
      auto restored = dataset.iterator();
      restored.restore(Json::parse(iterator.save().dump()));
      for (const int64_t number : numbers(restored)) all.push_back(number);
      CHECK(sorted(all) == up_to(30));
    }
  }
}

TEST_CASE("the order is kept where something above needs it") {
  const auto same = [](const Tensor& x) { return x; };
  const auto ordered = [&](bool deterministic) {
    return Dataset::range(40)
        .filter([](const Tensor& x) { return x >= 0; })
        .map(same, {.num_parallel_calls = 4, .deterministic = deterministic});
  };
  CHECK(numbers(ordered(false).shuffle(7, {.seed = 1})) ==
        numbers(ordered(true).shuffle(7, {.seed = 1})));
  CHECK(numbers(ordered(false).take(30)) == up_to(30));
  for (const int64_t index : {0, 1}) {
    CHECK(numbers(ordered(false).shard(2, index)) == numbers(ordered(true).shard(2, index)));
  }
  CHECK(data::describe_chain(*ordered(false).node()).ends_with("map(to int64 (), in any order)"));
}

TEST_CASE("errors among elements in any order") {
  const auto make = [] {
    data::MapOptions options = any_order(3);
    options.traced = false;
    return Dataset::range(20).map(
        [](const Tensor& x) {
          check<InvalidArgument>(x.item<int64_t>() != 9, "nine");
          return x;
        },
        options);
  };
  Numbers others = up_to(20);
  std::erase(others, 9);
  CHECK(sorted(numbers(make().ignore_errors())) == others);
  const Dataset failing = make();
  auto iterator = failing.iterator();
  CHECK_THROWS_WITH_AS(numbers(iterator), "map, element 9: nine", InvalidArgument);
  CHECK_THROWS_WITH_AS(iterator.save(),
                       "Dataset: after an error there is no position where elements come as they "
                       "are ready. Save it before, or set `deterministic` to true.",
                       FailedPrecondition);
}

TEST_CASE("where one stage gives elements as they are ready, those below it keep the order") {
  // The second stage identifies its input's elements by number, and in another order the numbers
  // would mean other elements.
  const auto same = [](const Tensor& x) { return x; };
  const auto maps = [&] {
    return Dataset::range(12)
        .map(same, any_order(2))
        .filter([](const Tensor& x) { return x >= 0; })
        .map(same, any_order(2));
  };
  const auto batches = [&] {
    return Dataset::range(12)
        .map(same, any_order(2))
        .batch(2, {.num_parallel_calls = 2, .deterministic = false});
  };
  for (const Dataset& dataset : {maps(), batches()}) {
    auto iterator = dataset.iterator();
    data::Element element;
    REQUIRE(iterator.next(element));
    const std::string position = iterator.save().dump();
    const size_t first = position.find("\"begun\"");
    CHECK(first != std::string::npos);
    CHECK(position.find("\"begun\"", first + 1) == std::string::npos);
  }
}
