// SPDX-License-Identifier: Apache-2.0
// Elements that fail among those that are skipped, below ignore_errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/ops/math.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;

namespace {

using Numbers = std::vector<int64_t>;
using Bad = std::set<int64_t>;

data::ElementSpec of_numbers(const Shape& shape = {}) {
  return {.types = {{DType::Int64, shape}}, .structure = {}};
}

void require_good(const Bad& bad, int64_t number) {
  check<DataLoss>(bad.count(number) == 0, "element {} is broken", number);
}

Dataset generated(int64_t count, const Bad& bad) {
  return Dataset::from_generator(
      [count, bad] {
        return [count, bad, next = int64_t{0}]() mutable -> std::optional<Element> {
          if (next == count) return std::nullopt;
          const int64_t number = next++;
          require_good(bad, number);
          return Tensor::scalar(number);
        };
      },
      {.output_signature = of_numbers()});
}

Dataset mapped(const Dataset& numbers, const Bad& bad, int64_t calls) {
  return numbers.map(
      [bad](const Tensor& x) {
        require_good(bad, x.item<int64_t>());
        return x;
      },
      {.num_parallel_calls = calls, .output_signature = of_numbers(), .traced = false});
}

// 0, 1, …, `count` - 1, of which the `bad` ones fail; sources differ in where the failure is
// detected.
struct Source {
  std::string name;
  std::function<Dataset(int64_t count, const Bad& bad)> make;
};

std::vector<Source> sources() {
  return {
      {"generator", generated},
      {"generator, prefetched", [](auto... of) { return generated(of...).prefetch(2); }},
      {"generator, cached", [](auto... of) { return generated(of...).cache(); }},
      {"generator, mapped", [](auto... of) { return mapped(generated(of...), {}, 1); }},
      {"generator, mapped in parallel",
       [](auto... of) { return mapped(generated(of...), {}, 3).prefetch(1); }},
      {"map", [](int64_t count, const Bad& bad) { return mapped(rows_to(count), bad, 1); }},
      {"parallel map",
       [](int64_t count, const Bad& bad) { return mapped(rows_to(count), bad, 3); }},
      {"filter",
       [](int64_t count, const Bad& bad) {
         return generated(count, bad).filter([](const Tensor& x) {
           return ops::greater_equal(x, int64_t{0});
         });
       }},
      {"flat_map, taken",
       [](int64_t count, const Bad& bad) {
         return Dataset::range(1)
             .flat_map([=](const Tensor&) { return generated(count, bad); },
                       {.output_signature = of_numbers()})
             .take(count);
       }},
      {"interleave",  // the two halves one after the other
       [](int64_t count, const Bad& bad) {
         const auto part = [=](const Tensor& index) {
           const int64_t k = index.item<int64_t>();
           return Dataset::from_generator(
               [=] {
                 return [=, next = k * (count / 2)]() mutable -> std::optional<Element> {
                   if (next == (k == 0 ? count / 2 : count)) return std::nullopt;
                   const int64_t number = next++;
                   require_good(bad, number);
                   return Tensor::scalar(number);
                 };
               },
               {.output_signature = of_numbers()});
         };
         return Dataset::range(2).interleave(
             part, {.cycle_length = 1, .block_length = 2, .num_parallel_calls = 2});
       }},
  };
}

// A transform of a source, and the numbers that a plain loop expects to be left.
struct Transform {
  std::string name;
  std::function<Dataset(const Dataset&)> make;
  std::function<Numbers(int64_t count, const Bad& bad)> expected;
};

Numbers those(int64_t count, const Bad& bad, const std::function<bool(int64_t)>& wanted) {
  Numbers left;
  for (int64_t i = 0; i < count; ++i) {
    if (bad.count(i) == 0 && wanted(i)) left.push_back(i);
  }
  return left;
}

Transform skipping(int64_t from) {
  return {fmt::format("skip({})", from), [=](const Dataset& d) { return d.skip(from); },
          [=](int64_t count, const Bad& bad) {
            return those(count, bad, [=](int64_t i) { return i >= from; });
          }};
}

Transform shard(int64_t parts, int64_t index) {
  return {fmt::format("shard({}, {})", parts, index),
          [=](const Dataset& d) { return d.shard(parts, index); },
          [=](int64_t count, const Bad& bad) {
            return those(count, bad, [=](int64_t i) { return i % parts == index; });
          }};
}

Transform windows(int64_t size, const data::WindowOptions& how, int64_t skipped = 0) {
  return {fmt::format("window({}, {}, {}, {}).skip({})", size, how.shift.value_or(size), how.stride,
                      how.drop_remainder, skipped),
          [=](const Dataset& d) {
            return d.window(size, how)
                .flat_map([](const Dataset& w) { return w.batch(100); },
                          {.output_signature = of_numbers({kUnknown})})
                .skip(skipped);
          },
          [=](int64_t count, const Bad& bad) {
            Numbers all;
            const int64_t span = (size - 1) * how.stride + 1;
            for (int64_t k = 0; k * how.shift.value_or(size) < count; ++k) {
              const int64_t begin = k * how.shift.value_or(size);
              if (how.drop_remainder && begin + span > count) break;
              const int64_t end = std::min(count, begin + span);
              Numbers window;
              bool good = true;
              for (int64_t i = begin; i < end; i += how.stride) {
                window.push_back(i);
                good = good && bad.count(i) == 0;
              }
              if (good && k >= skipped) all.insert(all.end(), window.begin(), window.end());
            }
            return all;
          }};
}

std::vector<Transform> transforms() {
  return {skipping(0),
          skipping(3),
          skipping(20),
          shard(2, 0),
          shard(3, 1),
          shard(5, 4),
          windows(2, {.shift = 3}),
          windows(3, {.shift = 1}),
          windows(2, {.shift = 5, .stride = 2, .drop_remainder = true}),
          windows(3, {.shift = 2, .stride = 2}),
          windows(2, {.shift = 3}, 2),
          windows(3, {.shift = 1}, 2),
          windows(3, {.shift = 2, .stride = 2}, 3)};
}

// Checks that an iterator restored from any position continues like the iterator that saved it.
void check_restored_anywhere(const std::function<Dataset()>& make, const Numbers& all) {
  for (int64_t stop = 0; stop <= std::ssize(all); ++stop) {
    CAPTURE(stop);
    const Dataset dataset = make();
    auto iterator = dataset.iterator();
    Numbers both = numbers(iterator, stop);
    const std::string saved = iterator.save().dump();
    CAPTURE(saved);
    const Dataset same = make();
    auto restored = same.iterator();
    restored.restore(Json::parse(saved));
    CHECK(restored.save().dump() == saved);
    for (const int64_t number : numbers(restored)) both.push_back(number);
    CHECK(both == all);
  }
}

Bad some_of(int64_t count, PhiloxEngine& engine) {
  Bad bad;
  for (int64_t i = 0; i < count; ++i) {
    if (engine.below(4) == 0) bad.insert(i);
  }
  return bad;
}

struct Quiet {
  Quiet() { logging::set_level(logging::Level::Off); }
  ~Quiet() { logging::set_level(logging::Level::Info); }
};

}  // namespace

TEST_CASE("what is left out is counted, whether it fails or not") {
  const Quiet quiet;
  PhiloxEngine engine(3);
  for (const Source& source : sources()) {
    for (const Transform& transform : transforms()) {
      for (int round = 0; round < 4; ++round) {
        CAPTURE(source.name);
        CAPTURE(transform.name);
        const auto count = static_cast<int64_t>(engine.below(12));
        const Bad bad = round == 0 ? Bad() : some_of(count, engine);
        CAPTURE(count);
        CAPTURE(fmt::format("{}", fmt::join(bad, ", ")));
        const auto make = [&] { return transform.make(source.make(count, bad)).ignore_errors(); };
        const Dataset dataset = make();
        const Numbers expected = transform.expected(count, bad);
        CHECK(numbers(dataset) == expected);
        CHECK(numbers(dataset) == expected);  // from the cache, if there is one
        check_restored_anywhere(make, expected);
      }
    }
  }
}

TEST_CASE("batches, repetitions and datasets side by side go on behind what fails") {
  const Quiet quiet;
  PhiloxEngine engine(4);
  for (int round = 0; round < 60; ++round) {
    const auto count = static_cast<int64_t>(1 + engine.below(9));
    const Bad bad = some_of(count, engine);
    const Bad others = some_of(count, engine);
    const auto from = static_cast<int64_t>(engine.below(static_cast<uint64_t>(2 * count)));
    CAPTURE(count);
    CAPTURE(from);
    CAPTURE(fmt::format("{}; {}", fmt::join(bad, ", "), fmt::join(others, ", ")));
    const auto make = [&] { return generated(count, bad); };
    Numbers twice;
    for (int64_t i = from; i < 2 * count; ++i) {
      if (bad.count(i % count) == 0) twice.push_back(i % count);
    }
    const auto repeated = [&] { return make().repeat(2).skip(from).ignore_errors(); };
    CHECK(numbers(repeated()) == twice);
    check_restored_anywhere(repeated, twice);
    const auto repeated_batches = [&] {
      return mapped(rows_to(count), bad, 1).batch(3).repeat(3).ignore_errors();
    };
    check_restored_anywhere(repeated_batches, numbers(repeated_batches()));
    const auto in_a_row = [&] { return make().concatenate(make()).skip(from).ignore_errors(); };
    CHECK(numbers(in_a_row()) == twice);
    check_restored_anywhere(in_a_row, twice);
    const auto one = [&, whole = make()] {
      return whole.concatenate(whole).skip(from).ignore_errors();
    };
    CHECK(numbers(one()) == twice);

    Numbers pairs;
    for (const int64_t i : those(count, bad, [&](int64_t i) { return i >= from; })) {
      if (others.count(i) == 0) pairs.insert(pairs.end(), {i, i});
    }
    const auto zipped = [&] {
      return Dataset::zip({make(), generated(count, others)}).skip(from).ignore_errors();
    };
    CHECK(numbers(zipped()) == pairs);
    check_restored_anywhere(zipped, pairs);

    // A batch ends where an element fails, and the next one begins after it, as in tf.data.
    std::vector<Numbers> batches(1);
    for (int64_t i = 0; i < count; ++i) {
      batches.back().push_back(i);
      if (bad.count(i) > 0) batches.back().clear();
      if (bad.count(i) > 0 || batches.back().size() == 3) batches.emplace_back();
    }
    const auto left_of = [&](const std::function<bool(int64_t)>& wanted) {
      Numbers left;
      for (int64_t k = 0; k < std::ssize(batches); ++k) {
        const Numbers& batch = batches[static_cast<size_t>(k)];
        if (wanted(k)) left.insert(left.end(), batch.begin(), batch.end());
      }
      return left;
    };
    const auto batched = [&] { return make().batch(3).skip(from).ignore_errors(); };
    const auto later = left_of([&](int64_t k) { return k >= from; });
    CHECK(numbers(batched()) == later);
    check_restored_anywhere(batched, later);
    const auto sharded = [&] { return make().batch(3).shard(2, 1).ignore_errors(); };
    const auto odd = left_of([](int64_t k) { return k % 2 == 1; });
    CHECK(numbers(sharded()) == odd);
    check_restored_anywhere(sharded, odd);
    const auto taken = [&] { return make().take(3).skip(from).ignore_errors(); };
    Numbers first = those(count, bad, [](int64_t) { return true; });
    first.resize(std::min<size_t>(first.size(), 3));
    std::erase_if(first, [&](int64_t i) { return i < from; });
    CHECK(numbers(taken()) == first);
  }
}

namespace {

// What a chain is built from when it makes several calls at a time.
struct Ahead {
  std::function<Dataset(int64_t count, const Bad& bad)> source;
  int64_t calls;
};

struct Chain {
  std::string name;
  std::function<Dataset(const Dataset&, const Ahead&)> make;
};

// Chains of transforms whose next element begins after one that fails, below others that skip
// elements.
std::vector<Chain> chains() {
  const auto interleaved = [](const Dataset& d, const Ahead& ahead) {
    return d.interleave(
        [source = ahead.source](const Tensor& x) {
          const int64_t number = x.item<int64_t>();
          return source(1 + number % 4, {number % 3});
        },
        {.cycle_length = 3,
         .block_length = 2,
         .num_parallel_calls = ahead.calls,
         .output_signature = of_numbers()});
  };
  return {
      {"shard | shard", [](auto d, auto) { return d.shard(2, 0).shard(2, 1); }},
      {"skip | shard", [](auto d, auto) { return d.skip(3).shard(2, 1); }},
      {"shard | skip", [](auto d, auto) { return d.shard(3, 0).skip(2); }},
      {"skip | concatenate", [](auto d, auto) { return d.skip(2).concatenate(d).shard(2, 0); }},
      {"take | shard", [](auto d, auto) { return d.take(5).shard(2, 1); }},
      {"take | skip", [](auto d, auto) { return d.take(5).skip(2); }},
      {"batch | shard", [](auto d, auto) { return d.batch(3).shard(2, 0); }},
      {"batch | prefetch | shard",
       [](auto d, auto ahead) { return d.batch(2).prefetch(ahead.calls - 1).shard(2, 1); }},
      {"parallel batch | shard",
       [](auto d, auto ahead) {
         return d.batch(2, {.num_parallel_calls = ahead.calls}).shard(2, 1);
       }},
      {"padded_batch | shard", [](auto d, auto) { return d.padded_batch(2).shard(2, 1); }},
      {"batch | repeat | skip", [](auto d, auto) { return d.batch(2).repeat(3).skip(7); }},
      {"interleave | shard", [=](auto d, auto ahead) { return interleaved(d, ahead).shard(2, 0); }},
      {"window | concatenate | shard",
       [](auto d, auto) {
         const auto windows =
             d.window(2, {.shift = 4})
                 .flat_map([](const Dataset& w) { return w; }, {.output_signature = of_numbers()});
         return windows.concatenate(d).shard(2, 0);
       }},
      {"interleave | skip", [=](auto d, auto ahead) { return interleaved(d, ahead).skip(5); }},
  };
}

}  // namespace

TEST_CASE("what comes behind elements that fail doesn't depend on which ones were made") {
  const Quiet quiet;
  PhiloxEngine engine(6);
  for (const Chain& chain : chains()) {
    for (int round = 0; round < 8; ++round) {
      const auto count = static_cast<int64_t>(4 + engine.below(10));
      const Bad bad = some_of(count, engine);
      CAPTURE(chain.name);
      CAPTURE(count);
      CAPTURE(fmt::format("{}", fmt::join(bad, ", ")));
      // A generator makes all elements.
      const Numbers all =
          numbers(chain.make(generated(count, bad), {generated, 1}).ignore_errors());
      for (const int64_t calls : {1, 2, 8}) {
        CAPTURE(calls);
        const auto source = [calls](int64_t size, const Bad& failing) {
          return mapped(mapped(rows_to(size), failing, calls), {}, calls).prefetch(calls - 1);
        };
        const auto make = [&] {
          return chain.make(source(count, bad), {source, calls}).ignore_errors();
        };
        CHECK(numbers(make()) == all);
        check_restored_anywhere(make, all);
      }
    }
  }
}

TEST_CASE("elements that were taken before another failed are made again") {
  const Quiet quiet;
  PhiloxEngine engine(5);
  for (int round = 0; round < 20; ++round) {
    const Bad bad = some_of(9, engine);
    CAPTURE(fmt::format("{}", fmt::join(bad, ", ")));
    const auto pair_of = [](const Tensor& x) { return Dataset::from_tensors(x).repeat(2); };
    const auto interleaved = [&] {
      return mapped(rows_to(9), bad, 1)
          .take(4)
          .interleave(pair_of, {.cycle_length = 3, .output_signature = of_numbers()})
          .ignore_errors();
    };
    check_restored_anywhere(interleaved, numbers(interleaved()));
  }
}

TEST_CASE("an error behind the last window isn't lost") {
  for (const bool drop : {false, true}) {
    const auto windows = [drop](int64_t count, const Bad& bad) {
      return generated(count, bad)
          .window(2, {.shift = 4, .stride = 2, .drop_remainder = drop})
          .flat_map([](const Dataset& w) { return w; }, {.output_signature = of_numbers()});
    };
    CHECK(numbers(windows(8, {1, 3})) == Numbers{0, 2, 4, 6});
    for (const int64_t last : {5, 7}) {
      CAPTURE(drop);
      const Dataset dataset = windows(last + 1, {last});
      auto iterator = dataset.iterator();
      const std::string message = message_of<DataLoss>([&] { numbers(iterator); });
      CHECK_MESSAGE(message == fmt::format("element {} is broken", last), message);
    }
  }
}

TEST_CASE("an iterator that is called while another call of it runs") {
  std::optional<data::Iterator> iterator;
  const auto ask_again = [&](const Tensor& x) {
    Element element;
    if (iterator) iterator->next(element);
    return x;
  };
  const Dataset dataset = Dataset::range(3).map(ask_again, {.traced = false});
  iterator.emplace(dataset.iterator());
  Element element;
  CHECK(message_of<FailedPrecondition>([&] { iterator->next(element); }) ==
        "map, element 0: Iterator: called while another call of it runs. An iterator is for one "
        "thread at a time: make one for each, or lock a mutex around its calls.");
}

TEST_CASE("a dataset whose function iterates the dataset itself") {
  std::optional<Dataset> whole;
  const auto iterate = [&](const Tensor& x) {
    if (whole) {
      for (const Element& element : *whole) static_cast<void>(element);
    }
    return x;
  };
  const Dataset mapped = Dataset::range(2).map(iterate, {.traced = false});
  whole.emplace(mapped);
  const std::string message = message_of<FailedPrecondition>([&] { numbers(mapped); });
  CHECK_MESSAGE(message.ends_with("Iterator: 256 calls of iterators are within each other here. A "
                                  "dataset's function must not iterate that dataset, nor one that "
                                  "is made from it: the calls would never end."),
                message);
}

TEST_CASE("functions that are empty") {
  const auto refused = [](const std::function<void()>& f) {
    return message_of<InvalidArgument>(f);
  };
  const Dataset numbers_to_4 = Dataset::range(4);
  CHECK(refused([&] {
          numbers_to_4.map(std::function<Tensor(const Tensor&)>());
        }).find("map: expected a function, got an empty one.") == 0);
  CHECK(refused([&] {
          numbers_to_4.flat_map(std::function<Dataset(const Element&)>());
        }).find("flat_map, element 0: expected a function, got an empty one.") == 0);
  const auto same = [](const Tensor& x) { return x; };
  CHECK(refused([&] { numbers_to_4.group_by_window(same, Dataset::ReduceFunction(), 2); }) ==
        "group_by_window: expected a function, got an empty one.");
  CHECK(refused([&] { numbers_to_4.window(2).map({}); }) ==
        "window: expected a function, got an empty one.");
  CHECK(refused([&] { numbers_to_4.window(2).flat_map({}); }) ==
        "window: expected a function, got an empty one.");
}
