// SPDX-License-Identifier: Apache-2.0
// Saving an iterator's position, and continuing from it in another process.
#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>

#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/io/fuzzing.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using Numbers = std::vector<int64_t>;

namespace {

struct Pipeline {
  const char* name;
  std::function<Dataset()> make;  // called like a program would on each start
};

Dataset generated_to(int64_t count) {
  return Dataset::from_generator([count] {
    return [count, next = int64_t{0}]() mutable -> std::optional<data::Element> {
      if (next == count) return std::nullopt;
      return Tensor::scalar(next++);
    };
  });
}

// 1; 2 2; 3 3 3; … with different lengths.
Dataset growing_to(int64_t count) {
  return Dataset::range(1, count + 1).flat_map([](const Tensor& x) {
    return Dataset::from_tensors(ops::full({x.item<int64_t>()}, x, x.dtype()));
  });
}

Dataset odd_ones(const Tensor& x) {
  return Dataset::range(std::ssize(x.to_vector<int64_t>())).filter([](const Tensor& i) {
    return ops::equal(ops::mod(i, 2), 1);
  });
}

// Every third element fails.
Dataset failing_to(int64_t count) {
  return Dataset::from_generator([count] {
    return [count, next = int64_t{0}]() mutable -> std::optional<data::Element> {
      if (next == count) return std::nullopt;
      const int64_t number = next++;
      check<DataLoss>(number % 3 != 2, "element {} is broken", number);
      return Tensor::scalar(number);
    };
  });
}

data::FlatMapOptions of_numbers(const Shape& shape) {
  return {.output_signature = data::ElementSpec{.types = {{DType::Int64, shape}}, .structure = {}}};
}

// Transforms that depend on the values of elements.
std::vector<Pipeline> changing_pipelines() {
  return {
      {"take_while",
       [] { return rows_to(9).take_while([](const Tensor& x) { return ops::less(x, 6); }); }},
      {"unbatch", [] { return rows_to(11).shuffle(4, {.seed = 1}).batch(3).unbatch().take(8); }},
      {"batches made at a time",
       [] {
         return failing_to(40)
             .ignore_errors()
             .shuffle(5, {.seed = 1})
             .batch(3, {.num_parallel_calls = 2});
       }},
      {"padded_batch", [] { return growing_to(7).padded_batch(2); }},
      {"ragged_batch", [] { return growing_to(7).ragged_batch(2).prefetch(1); }},
      {"flat_map of filtered",
       [] { return growing_to(5).flat_map(&odd_ones).shuffle(3, {.seed = 1}).repeat(2); }},
      {"interleave",
       [] {
         return growing_to(6).interleave(
             &odd_ones, {.cycle_length = 2, .block_length = 2, .num_parallel_calls = 2});
       }},
      {"windows",
       [] {
         return generated_to(9)
             .shuffle(3, {.seed = 1})
             .window(3, {.shift = 2})
             .flat_map([](const Dataset& w) { return w.shuffle(3, {.seed = 2}).batch(2); });
       }},
      {"group_by_window",
       [] {
         return rows_to(12)
             .shuffle(5, {.seed = 1})
             .group_by_window([](const Tensor& x) { return ops::mod(x, 3); },
                              [](int64_t, const Dataset& group) { return group.batch(2); }, 3);
       }},
      {"buckets",
       [] {
         return growing_to(9).bucket_by_sequence_length(
             [](const Tensor& x) { return ops::sum(ops::ones_like(x)); }, {3, 5}, {2, 3, 2});
       }},
      {"scan",
       [] {
         return Dataset::range(9)
             .shuffle(3, {.seed = 1})
             .scan(Tensor::scalar(int64_t{0}),
                   [](const Tensor& s, const Tensor& x) { return std::pair(s + x, s * x); });
       }},
      {"unique",
       [] {
         return rows_to(9).repeat(2).map([](const Tensor& x) { return ops::mod(x, 4); }).unique();
       }},
      {"resampled",
       [] {
         return rows_to(30).rejection_resample([](const Tensor& x) { return ops::mod(x, 2); },
                                               {0.8, 0.2});
       }},
      {"sampled",
       [] {
         return Dataset::sample_from_datasets({generated_to(5), Dataset::range(7)},
                                              {.rerandomize_each_iteration = true});
       }},
      {"chosen",
       [] {
         return Dataset::choose_from_datasets({generated_to(5), Dataset::range(7)},
                                              Dataset::range(2).repeat(9),
                                              {.stop_on_empty_dataset = false});
       }},
      {"counter", [] { return Dataset::counter(3, 2).take(9); }},
      {"random", [] { return Dataset::random({.rerandomize_each_iteration = true}).take(9); }},
  };
}

std::vector<Pipeline> failing_pipelines() {
  return {
      {"ignore_errors",
       [] { return failing_to(12).ignore_errors().batch(2).assert_cardinality(4); }},
      {"ignore_errors above window",
       [] {
         return failing_to(20)
             .window(3, {.shift = 2})
             .flat_map([](const Dataset& w) { return w; }, of_numbers({}))
             .ignore_errors();
       }},
      {"ignore_errors above window with gaps",
       [] {
         return failing_to(30)
             .prefetch(1)
             .window(2, {.shift = 1, .stride = 2, .drop_remainder = true})
             .flat_map([](const Dataset& w) { return w.batch(2); }, of_numbers({kUnknown}))
             .ignore_errors();
       }},
      {"ignore_errors above cache", [] { return failing_to(12).cache().ignore_errors(); }},
      {"ignore_errors above batch",
       [] { return failing_to(16).prefetch(2).batch(3).shuffle(2, {.seed = 1}).ignore_errors(); }},
  };
}

std::vector<Pipeline> pipelines() {
  return {
      {"rows", [] { return rows_to(11); }},
      {"elements", [] { return Dataset::range(11); }},
      {"one", [] { return Dataset::from_tensors({Tensor::scalar(int64_t{4})}); }},
      {"shuffle", [] { return rows_to(11).shuffle(4, {.seed = 1}); }},
      {"shuffle elements", [] { return Dataset::range(11).shuffle(4, {.seed = 1}); }},
      {"batch", [] { return rows_to(11).shuffle(20, {.seed = 1}).batch(3); }},
      {"batch, dropping", [] { return rows_to(11).batch(3, {.drop_remainder = true}); }},
      {"repeat", [] { return rows_to(5).shuffle(3, {.seed = 1}).repeat(3); }},
      {"repeat of repeat", [] { return rows_to(3).shuffle(3, {.seed = 1}).repeat(2).repeat(2); }},
      {"batch over repetitions",
       [] { return rows_to(5).repeat(3).shuffle(4, {.seed = 1}).batch(2); }},
      {"endless", [] { return rows_to(5).shuffle(5, {.seed = 1}).repeat().batch(3).take(9); }},
      {"take and skip", [] { return Dataset::range(20).skip(4).take(9); }},
      {"shard", [] { return rows_to(23).shuffle(6, {.seed = 1}).shard(3, 1); }},
      {"shard of elements", [] { return Dataset::range(23).shard(4, 3); }},
      {"cache", [] { return rows_to(7).shuffle(7, {.seed = 1}).cache().repeat(3); }},
      {"cache of elements",
       [] { return Dataset::range(7).cache().shuffle(3, {.seed = 1}).repeat(2); }},
      {"enumerate", [] { return rows_to(9).shuffle(9, {.seed = 1}).enumerate(3); }},
      {"zip",
       [] {
         return Dataset::zip({rows_to(9).shuffle(9, {.seed = 1}), Dataset::range(7)});
       }},
      {"concatenate",
       [] { return rows_to(5).concatenate(Dataset::range(6).shuffle(3, {.seed = 1})); }},
      {"generator", [] { return generated_to(9).shuffle(4, {.seed = 1}).batch(2); }},
      {"generator, repeated", [] { return generated_to(3).repeat(3).prefetch(2); }},
      {"filter",
       [] {
         return rows_to(20)
             .shuffle(20, {.seed = 1})
             .filter([](const Tensor& x) { return ops::equal(ops::mod(x, 3), 0); })
             .batch(2);
       }},
      {"prefetch", [] { return rows_to(20).shuffle(8, {.seed = 1}).batch(3).prefetch(2); }},
      {"prefetch twice",
       [] { return Dataset::range(20).prefetch(2).batch(3).prefetch(data::kAutotune); }},
  };
}

}  // namespace

TEST_CASE("a restored iterator goes on exactly where the saved one stood") {
  logging::set_level(logging::Level::Off);
  std::vector<Pipeline> all = pipelines();
  for (const Pipeline& changing : changing_pipelines()) all.push_back(changing);
  for (const Pipeline& failing : failing_pipelines()) all.push_back(failing);
  for (const Pipeline& pipeline : all) {
    CAPTURE(pipeline.name);
    set_random_seed(1);
    int64_t elements = 0;
    {
      auto iterator = pipeline.make().iterator();
      for (data::Element element; iterator.next(element);) ++elements;
    }
    for (int64_t stop = 0; stop <= elements; ++stop) {
      CAPTURE(stop);
      const auto first_run = pipeline.make();
      numbers(first_run);  // an earlier pass
      auto iterator = first_run.iterator();
      numbers(iterator, stop);
      const std::string position = iterator.save().dump();

      const auto second_run = pipeline.make();
      auto restored = second_run.iterator();
      restored.restore(Json::parse(position));
      CHECK(restored.save().dump() == position);
      CHECK(numbers(restored) == numbers(iterator));
      // The same position; what is known about a stream that has ended may differ.
      for (const data::Iterator* ended : {&restored, &iterator}) {
        auto last = pipeline.make().iterator();
        last.restore(ended->save());
        CHECK(numbers(last).empty());
      }
      CHECK(numbers(second_run) == numbers(first_run));  // and the pass after it
    }
  }
  logging::set_level(logging::Level::Info);
}

TEST_CASE("a position is after what was consumed, not after what was prefetched") {
  auto iterator = rows_to(100).batch(1).prefetch(50).iterator();
  numbers(iterator, 3);
  CHECK(iterator.save().at("consumed").as_int() == 3);
}

TEST_CASE("a position keeps the seeds that were drawn, for later passes too") {
  auto first_run = rows_to(40).shuffle(40).batch(4);
  numbers(first_run);
  auto iterator = first_run.iterator();
  numbers(iterator, 2);
  const Json position = iterator.save();

  auto second_run = rows_to(40).shuffle(40).batch(4);
  auto restored = second_run.iterator();
  restored.restore(position);
  CHECK(numbers(restored) == numbers(iterator));
  CHECK(numbers(second_run) == numbers(first_run));
}

TEST_CASE("a cache keeps what a restored position's seed gives") {
  const auto make = [] { return rows_to(40).shuffle(40).cache(); };
  const auto first_run = make();
  auto iterator = first_run.iterator();
  numbers(iterator, 2);
  const Json position = iterator.save();

  const auto second_run = make();
  const Numbers before = numbers(second_run);  // fills its cache
  auto restored = second_run.iterator();
  restored.restore(position);
  const Numbers rest = numbers(restored);
  CHECK(rest == numbers(iterator));
  CHECK(rest != Numbers(before.begin() + 2, before.end()));
  CHECK(numbers(second_run) == numbers(first_run));
}

TEST_CASE("an element that failed is made again where the position after the error is restored") {
  const auto make = [](bool fails, bool batches) {
    const Dataset numbers =
        Dataset::range(12)
            .shuffle(4, {.seed = 1})
            .map(
                [=](const Tensor& x) {
                  check<DataLoss>(!fails || x.item<int64_t>() != 7, "a broken disk");
                  return x;
                },
                {.traced = false});
    return batches ? numbers.batch(2) : numbers;
  };
  for (const bool batches : {false, true}) {
    auto iterator = make(true, batches).iterator();
    Numbers all;
    CHECK_THROWS_AS(
        [&] {
          for (data::Element element; iterator.next(element);) {
            for (const int64_t number : numbers(element.tensor(0))) all.push_back(number);
          }
        }(),
        DataLoss);
    auto restored = make(false, batches).iterator();
    restored.restore(Json::parse(iterator.save().dump()));
    for (const int64_t number : numbers(restored)) all.push_back(number);
    CHECK(all == numbers(make(false, batches)));
  }
}

TEST_CASE("a position keeps the seeds of datasets that a function has captured") {
  const auto make = [](int64_t cycle) {
    const Dataset inner = Dataset::range(20).shuffle(20);
    const auto f = [inner](const Tensor&) { return inner; };
    return cycle == 0 ? Dataset::range(3).flat_map(f)
                      : Dataset::range(3).interleave(f, {.cycle_length = cycle});
  };
  for (const int64_t cycle : {0, 2}) {
    const auto first_run = make(cycle);
    auto iterator = first_run.iterator();
    numbers(iterator, 25);
    const auto second_run = make(cycle);
    auto restored = second_run.iterator();
    restored.restore(iterator.save());
    CHECK(numbers(restored) == numbers(iterator));
    CHECK(numbers(second_run) == numbers(first_run));
  }
}

TEST_CASE("restoring a position leaves the seeds of other iterators as they are") {
  const auto make = [] { return rows_to(20).shuffle(20).repeat(3); };
  const auto saved_by = make();
  auto iterator = saved_by.iterator();
  numbers(iterator, 5);
  const Json position = iterator.save();

  const auto dataset = make();
  auto alive = dataset.iterator();
  auto undisturbed = dataset.iterator();
  const Json begun = undisturbed.save();
  Numbers all = numbers(alive, 7);
  auto restored = dataset.iterator();
  restored.restore(position);
  CHECK(numbers(restored) == numbers(iterator));
  // Its later repetitions are shuffled by the seed that it began with, which is part of its
  // position.
  auto again = make().iterator();
  again.restore(Json::parse(alive.save().dump()));
  const Numbers rest = numbers(alive);
  CHECK(rest == numbers(again));
  auto from_start = make().iterator();
  from_start.restore(begun);
  const Numbers expected = numbers(undisturbed);
  CHECK(numbers(from_start) == expected);
  CHECK(Numbers(expected.begin(), expected.begin() + 20) !=
        Numbers(expected.begin() + 20, expected.begin() + 40));
}

TEST_CASE("a position of many repetitions is restored without going through them") {
  auto dataset = rows_to(10).shuffle(10, {.seed = 1}).repeat();
  Json position = unsealed(dataset.iterator().save());
  position.set("consumed", int64_t{7'000'005});
  auto restored = dataset.iterator();
  restored.restore(position);
  auto walked = rows_to(10).shuffle(10, {.seed = 1}).repeat().skip(7'000'005);
  CHECK(numbers(restored, 20) == numbers(walked, 20));
}

TEST_CASE("a position of another pipeline is refused") {
  auto iterator = rows_to(10).shuffle(5, {.seed = 1}).batch(2).iterator();
  const Json position = iterator.save();
  auto restore = [](const Dataset& dataset, const Json& saved) {
    return message_of<FailedPrecondition>([&] { dataset.iterator().restore(saved); });
  };
  const std::string message = restore(rows_to(10).shuffle(5, {.seed = 2}).batch(2), position);
  CHECK(contains(message, "saved by another pipeline"));
  CHECK(contains(message, "saved: tensor_slices(10 of int64 ()) | shuffle(5, seed 1) | batch(2)"));
  CHECK(contains(message, "here:  tensor_slices(10 of int64 ()) | shuffle(5, seed 2) | batch(2)"));
  CHECK(contains(restore(rows_to(10).batch(2), position), "another pipeline"));
  CHECK(
      contains(restore(rows_to(9).shuffle(5, {.seed = 1}).batch(2), position), "another pipeline"));
}

TEST_CASE("damaged counts of passes without end are refused before anything runs") {
  const auto shuffled = Dataset::counter().map([](const Tensor& x) { return x * 2; }).shuffle(4);
  const auto filtered =
      Dataset::counter().filter([](const Tensor& x) { return ops::equal(ops::mod(x, 2), 0); });
  for (const Dataset& dataset : {shuffled, filtered}) {
    auto iterator = dataset.iterator();
    numbers(iterator, 9);
    const std::string saved = unsealed(iterator.save()).dump();
    for (const char* name : {"\"taken\": ", "\"given\": ", "\"consumed\": "}) {
      const size_t at = saved.find(name);
      if (at == std::string::npos) continue;
      std::string damaged = saved;
      damaged.insert(at + std::string(name).size(), "11529215046068469");
      CHECK_THROWS_AS(dataset.iterator().restore(Json::parse(damaged)), DataLoss);
    }
  }
  // For a shuffle, plausible numbers are rejected, too.
  auto iterator = shuffled.iterator();
  numbers(iterator, 9);
  std::string saved = unsealed(iterator.save()).dump();
  saved.insert(saved.find("\"given\": ") + 9, "99999999999999");
  CHECK(contains(message_of<DataLoss>([&] { shuffled.iterator().restore(Json::parse(saved)); }),
                 "items were taken, 999999999999999 given"));
}

TEST_CASE("a damaged position is told by its checksum, whatever it stands for" *
          doctest::skip(!kChecksumsMatter)) {
  // Skipping as many elements as these positions claim would take days.
  const Dataset endless = Dataset::from_generator(
      [next = int64_t{0}]() mutable {
        return std::optional<data::Element>(Tensor::scalar(next++));
      },
      {.output_signature = data::spec_of(Tensor::scalar(int64_t{0}))});
  for (const Dataset& dataset : {endless, rows_to(5).repeat().shuffle(3), endless.batch(2)}) {
    auto iterator = dataset.iterator();
    numbers(iterator, 3);
    const Json whole = iterator.save();
    Json damaged = whole;
    damaged.set("consumed", int64_t{99'999'999'999'999});
    const std::string message =
        message_of<DataLoss>([&] { dataset.iterator().restore(Json::parse(damaged.dump())); });
    CHECK(contains(message, "Dataset: the position is damaged: expected the checksum " +
                                whole.at("checksum").dump() + ", got "));
    auto restored = dataset.iterator();
    restored.restore(Json::parse(whole.dump()));
    CHECK(numbers(restored, 4) == numbers(iterator, 4));
  }
}

TEST_CASE("a position of very many repetitions is found at once") {
  const auto dataset = rows_to(3).repeat().batch(1);
  Json position = unsealed(dataset.iterator().save());
  position.set("consumed", int64_t{3} << 50);
  auto restored = dataset.iterator();
  restored.restore(position);
  CHECK(numbers(restored, 2) == Numbers{0, 1});
}

TEST_CASE("iterators of one dataset that are restored together number later passes as before") {
  const auto make = [] { return rows_to(10).shuffle(10, {.seed = 3}); };
  const Dataset dataset = make();
  auto first = dataset.iterator();  // passes 0 and 1; two others have begun
  auto second = dataset.iterator();
  numbers(first, 4);
  numbers(second, 2);
  dataset.iterator();
  dataset.iterator();
  const Json of_first = first.save();
  const Json of_second = second.save();
  const Dataset again = make();
  auto restored_first = again.iterator();
  restored_first.restore(Json::parse(of_first.dump()));
  auto restored_second = again.iterator();
  restored_second.restore(Json::parse(of_second.dump()));
  CHECK(restored_first.save() == of_first);
  CHECK(restored_second.save() == of_second);
  CHECK(numbers(again) == numbers(dataset));
}

TEST_CASE("a position that can't be is refused") {
  auto dataset = rows_to(10);
  Json early = unsealed(dataset.iterator().save());
  early.set("next_pass", int64_t{0});
  CHECK(contains(message_of<DataLoss>([&] { dataset.iterator().restore(early); }), "damaged"));
  Json position = unsealed(dataset.iterator().save());
  position.set("consumed", int64_t{11});
  CHECK(contains(message_of<FailedPrecondition>([&] { dataset.iterator().restore(position); }),
                 "after element 11, but this dataset ends after 10"));
  position.set("consumed", int64_t{-1});
  CHECK(contains(message_of<DataLoss>([&] { dataset.iterator().restore(position); }), "damaged"));
  const auto endless = rows_to(3).repeat();
  Json far = unsealed(endless.iterator().save());
  far.set("consumed", int64_t{1} << 60);
  CHECK(contains(message_of<DataLoss>([&] { endless.iterator().restore(far); }),
                 "is damaged: there can't be as many passes or elements."));
  CHECK(message_of<DataLoss>([&] { dataset.iterator().restore(Json()); }) ==
        "Dataset: expected a position, which an iterator's save() gives (an object of pipeline, "
        "pass, consumed and seeds), got null.");
  CHECK_THROWS_AS(dataset.iterator().restore(Json::object()), DataLoss);
  position = unsealed(dataset.iterator().save());
  position.set("seeds", "x");
  CHECK_THROWS_AS(dataset.iterator().restore(position), DataLoss);

  auto used = dataset.iterator();
  numbers(used, 1);
  CHECK(contains(message_of<FailedPrecondition>([&] { used.restore(position); }),
                 "by a new iterator only"));
}

namespace {

// The elements of `make(now)` after a position that was counted in batches of size `then`.
Numbers behind(const std::function<Dataset(int64_t)>& make, int64_t then, int64_t batches,
               int64_t now) {
  auto iterator = make(then).iterator();
  data::Element element;
  for (int64_t i = 0; i < batches; ++i) REQUIRE(iterator.next(element));
  auto other = make(now).iterator();
  other.restore_examples(Json::parse(iterator.save().dump()));
  Numbers numbers;
  for (int64_t i = 0; i < 4 && other.next(element); ++i) {
    for (const int64_t number : element[0].single().to_vector<int64_t>()) numbers.push_back(number);
  }
  return numbers;
}

Numbers from(int64_t first, int64_t count, int64_t modulus = 1000) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back((first + i) % modulus);
  return numbers;
}

}  // namespace

TEST_CASE("a place counted in batches of another size is behind as many examples") {
  logging::set_level(logging::Level::Off);
  const auto plain = [](int64_t size) {
    return Dataset::range(1000).batch(size).map([](const Tensor& x) { return x * 1; }).prefetch(2);
  };
  CHECK(behind(plain, 6, 4, 3) == from(24, 12));
  CHECK(behind(plain, 6, 4, 12) == from(24, 48));
  CHECK(behind(plain, 6, 4, 5) == from(20, 20));  // four of them come again
  CHECK(behind(plain, 6, 0, 5) == from(0, 20));
  const auto repeated = [](int64_t size) { return Dataset::range(10).repeat().batch(size); };
  CHECK(behind(repeated, 6, 5, 4) == from(28, 16, 10));
  // Each pass has its own last batch.
  const auto passes = [](int64_t size) { return Dataset::range(10).batch(size).repeat(); };
  CHECK(behind(passes, 6, 5, 3) == Numbers{6, 7, 8, 9, 0, 1, 2, 3, 4, 5});
  const auto shuffled = [](int64_t size) {
    return Dataset::range(40).shuffle(7, {.seed = 3}).batch(size);
  };
  auto whole = shuffled(1).skip(12).iterator();
  Numbers expected;
  data::Element element;
  for (int64_t i = 0; i < 16 && whole.next(element); ++i) {
    expected.push_back(element[0].single().to_vector<int64_t>()[0]);
  }
  CHECK(behind(shuffled, 6, 2, 4) == expected);
  const auto drops = [](int64_t size) {
    return Dataset::range(10).batch(size, {.drop_remainder = true}).repeat();
  };
  CHECK(behind(drops, 4, 3, 2) == Numbers{4, 5, 6, 7, 8, 9, 0, 1});
}

TEST_CASE("a place at the end of a pipeline of unknown length stays there with other batches") {
  logging::set_level(logging::Level::Off);
  const auto of = [](int64_t examples, bool drops = false) {
    return [=](int64_t size) {
      return Dataset::range(examples + 3)
          .filter([=](const Tensor& x) { return x < examples; })
          .batch(size, {.drop_remainder = drops});
    };
  };
  CHECK(behind(of(10), 4, 3, 7).empty());  // the last one has two
  CHECK(behind(of(12), 4, 3, 7).empty());
  CHECK(behind(of(13), 4, 3, 7) == from(7, 6));
  CHECK(behind(of(14, true), 4, 3, 6).empty());
  CHECK(behind(of(16, true), 4, 3, 7) == from(7, 7));
  CHECK(behind(of(10), 4, 0, 7) == from(0, 10));
  const auto passes = [of](int64_t size) { return of(10)(size).repeat(2); };
  CHECK(behind(passes, 4, 6, 7).empty());
  CHECK(behind(passes, 4, 3, 7) == from(0, 10));
}

TEST_CASE("a place of a pipeline that differs in more than its batches' size is refused") {
  const auto refuses = [](const Dataset& then, const Dataset& now) {
    auto iterator = then.iterator();
    data::Element element;
    REQUIRE(iterator.next(element));
    auto other = now.iterator();
    CHECK(test::message_of<FailedPrecondition>([&] {
            other.restore_examples(iterator.save());
          }).find("the position was saved by another pipeline") != std::string::npos);
  };
  refuses(Dataset::range(20).batch(4), Dataset::range(21).batch(2));
  refuses(Dataset::range(20).batch(4).take(2), Dataset::range(20).batch(2).take(2));
  refuses(Dataset::range(20).batch(4), Dataset::range(20).batch(2, {.drop_remainder = true}));
  refuses(Dataset::range(20).batch(4).batch(2), Dataset::range(20).batch(2).batch(2));
  refuses(Dataset::range(20).batch(4).unbatch(), Dataset::range(20).batch(2).unbatch());
}
