// SPDX-License-Identifier: Apache-2.0
// Sources, transforms and their errors.
#include "data/dataset.h"

#include <doctest/doctest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include "data/node.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Numbers = std::vector<int64_t>;

namespace {

Tensor images(int64_t count) {  // image i is filled with i
  Tensor tensor = Tensor::empty({count, 2, 2}, DType::UInt8);
  auto values = tensor.mutable_data<uint8_t>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i / 4);
  return tensor;
}
Tensor labels(int64_t count) {
  Numbers values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::from(values);
}

}  // namespace

TEST_CASE("counts below -1 are errors") {
  const auto five = Dataset::range(5);
  CHECK(message_of<InvalidArgument>([&] { five.take(-2); }) ==
        "take: expected a count of 0 or more, or -1 (all), got -2.");
  CHECK(message_of<InvalidArgument>([&] { five.skip(-7); }) ==
        "skip: expected a count of 0 or more, or -1 (all of them, which leaves none), got -7.");
  CHECK(message_of<InvalidArgument>([&] { five.repeat(-2); }) ==
        "repeat: expected a count of 0 or more, or -1 (without end), got -2.");
}

TEST_CASE("from_tensor_slices gives rows of all tensors") {
  auto dataset = Dataset::from_tensor_slices({images(3), labels(3)});
  CHECK(dataset.cardinality() == 3);
  CHECK(dataset.element_spec().to_string() == "(uint8 (2, 2), int64 ())");
  int64_t index = 0;
  for (const auto& [x, y] : dataset) {
    CHECK(x.shape() == Shape{2, 2});
    CHECK(numbers(x) == Numbers(4, index));
    CHECK(y.item<int64_t>() == index++);
  }
  CHECK(index == 3);
}

TEST_CASE("components may hold several tensors, with names") {
  auto dataset =
      Dataset::from_tensor_slices({{{"image", images(2)}, {"hint", labels(2)}}, labels(2)});
  CHECK(dataset.element_spec().to_string() == "({image: uint8 (2, 2), hint: int64 ()}, int64 ())");
  for (const data::Element& element : dataset.batch(2)) {
    CHECK(element.size() == 2);
    CHECK(element[0].at("hint").shape() == Shape{2});
    CHECK(numbers(element[1]) == Numbers{0, 1});
    CHECK(contains(message_of<InvalidArgument>([&] { element.tensor(0); }), "has 2 tensors"));
  }
  auto inputs_alone = Dataset::from_tensor_slices({{"image", images(2)}, {"hint", labels(2)}});
  CHECK(inputs_alone.element_spec().to_string() == "{image: uint8 (2, 2), hint: int64 ()}");
  auto list = Dataset::from_tensor_slices({{images(2), labels(2)}, labels(2)});
  CHECK(list.element_spec().to_string() == "((uint8 (2, 2), int64 ()), int64 ())");
}

TEST_CASE("from_tensor_slices refuses what can't be cut into equally many rows") {
  CHECK(message_of<InvalidArgument>([] {
          Dataset::from_tensor_slices({images(60), labels(50)});
        }) ==
        "from_tensor_slices: expected equally many examples in all tensors, but tensor 0 has 60 "
        "and tensor 1 has 50.");
  CHECK(contains(message_of<InvalidArgument>([] {
                   Dataset::from_tensor_slices({images(3), Tensor::scalar(1.0f)});
                 }),
                 "tensor 1 is a scalar. Use from_tensors"));
  CHECK(contains(message_of<InvalidArgument>([] { Dataset::from_tensor_slices(data::Element()); }),
                 "expected tensors, got none"));
}

TEST_CASE("a dataset of no rows") {
  CHECK(numbers(rows_to(0)).empty());
  CHECK(numbers(rows_to(0).shuffle(10).repeat().batch(2)).empty());  // and the pass ends
  CHECK(rows_to(0).repeat().cardinality() == 0);
}

TEST_CASE("an element of another number of components doesn't unpack") {
  auto three = Dataset::from_tensor_slices({labels(1), labels(1), labels(1)});
  CHECK(contains(message_of<InvalidArgument>([&] {
                   for (const auto& [x, y] : three) (void)x, (void)y;
                 }),
                 "An element of 3 components can't be unpacked as a pair"));
}

TEST_CASE("from_tensors and range") {
  CHECK(numbers(Dataset::from_tensors({labels(3)})) == Numbers{0, 1, 2});
  CHECK(Dataset::from_tensors({labels(3)}).cardinality() == 1);
  CHECK(numbers(Dataset::range(3)) == Numbers{0, 1, 2});
  CHECK(numbers(Dataset::range(2, 9, 3)) == Numbers{2, 5, 8});
  CHECK(numbers(Dataset::range(5, 0, -2)) == Numbers{5, 3, 1});
  CHECK(Dataset::range(5, 5).cardinality() == 0);
  CHECK(Dataset::range(0, 5, -1).cardinality() == 0);
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  constexpr int64_t kStep = int64_t{1} << 62;
  CHECK(numbers(Dataset::range(kLow, kHigh, kStep)) == Numbers{kLow, kLow + kStep, 0, kStep});
  CHECK(
      contains(message_of<InvalidArgument>([] { Dataset::range(0, 1, 0); }), "step other than 0"));
}

TEST_CASE("range and counter give numbers of any type") {
  for (const DType dtype : {DType::UInt8, DType::Int8, DType::Int32, DType::UInt32, DType::UInt64,
                            DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    CAPTURE(to_string(dtype));
    const auto numbered = Dataset::range(2, 11, 3, {.output_type = dtype});
    CHECK(numbered.element_spec().to_string() == fmt::format("{} ()", dtype));
    std::vector<double> values;
    for (const auto& element : numbered) {
      CHECK(element.tensor(0).dtype() == dtype);
      values.push_back(element.tensor(0).item<double>());
    }
    CHECK(values == std::vector<double>{2, 5, 8});
    const auto counted = Dataset::counter(7, -2, dtype).take(3);
    CHECK(counted.element_spec() == numbered.element_spec());
    values.clear();
    for (const auto& element : counted) values.push_back(element.tensor(0).item<double>());
    CHECK(values == std::vector<double>{7, 5, 3});
  }
  // Cast as in TensorFlow.
  CHECK(numbers(Dataset::range(254, 258, {.output_type = DType::UInt8})) ==
        Numbers{254, 255, 0, 1});
  CHECK(numbers(Dataset::range(2, {.output_type = DType::Int32})) == Numbers{0, 1});
  CHECK(message_of<InvalidArgument>([] { Dataset::range(3, {.output_type = DType::String}); }) ==
        "range: expected a dtype of numbers as output_type, got string.");
  CHECK(message_of<InvalidArgument>([] { Dataset::counter(0, 1, DType::Bool); }) ==
        "counter: expected a dtype of numbers as dtype, got bool.");
}

TEST_CASE("batch stacks, by rows and by elements") {
  for (const bool by_rows : {true, false}) {
    CAPTURE(by_rows);
    const auto source = by_rows ? rows_to(5) : Dataset::range(5);
    auto dataset = source.batch(2);
    CHECK(dataset.cardinality() == 3);
    CHECK(dataset.element_spec().to_string() == "int64 (None,)");
    std::vector<Shape> shapes;
    for (const auto& element : dataset) shapes.push_back(element.tensor(0).shape());
    CHECK(shapes == std::vector<Shape>{{2}, {2}, {1}});
    CHECK(numbers(dataset) == Numbers{0, 1, 2, 3, 4});

    auto full = source.batch(2, {.drop_remainder = true});
    CHECK(full.cardinality() == 2);
    CHECK(full.element_spec().to_string() == "int64 (2,)");
    CHECK(numbers(full) == Numbers{0, 1, 2, 3});
    CHECK(numbers(source.batch(2).batch(2, {.drop_remainder = true})) == Numbers{0, 1, 2, 3});
  }
}

TEST_CASE("batches that are made at a time are the same, in the same order") {
  const auto pairs = [](bool by_rows) {
    const auto dataset =
        Dataset::from_tensor_slices({images(50), labels(50)}).shuffle(9, {.seed = 1});
    return by_rows ? dataset
                   : dataset.filter([](const Tensor&, const Tensor& y) { return y != 7; });
  };
  for (const bool by_rows : {true, false}) {
    for (const bool drop : {true, false}) {
      const auto batches = [&](std::optional<int64_t> calls) {
        return pairs(by_rows).batch(4, {.drop_remainder = drop, .num_parallel_calls = calls});
      };
      const Numbers expected = numbers(batches({}));
      for (const int64_t calls : {int64_t{1}, int64_t{2}, int64_t{7}, data::kAutotune}) {
        CAPTURE(calls);
        CHECK(batches(calls).element_spec() == batches({}).element_spec());
        CHECK(batches(calls).cardinality() == batches({}).cardinality());
        CHECK(numbers(batches(calls)) == expected);
        CHECK(numbers(batches(calls).skip(3)) == numbers(batches({}).skip(3)));
      }
    }
  }
  const auto uneven = Dataset::range(5).flat_map(
      [](const Tensor& x) { return Dataset::from_tensors(ops::zeros({x.item<int64_t>() / 4})); });
  const auto error_of = [&](int64_t calls) {
    return message_of<InvalidArgument>(
        [&] { numbers(uneven.batch(3, {.num_parallel_calls = calls})); });
  };
  CHECK(
      contains(error_of(1), "got float32 of shape (1,) as element 4 after float32 of shape (0,)"));
  CHECK(error_of(4) == error_of(1));
  CHECK(message_of<InvalidArgument>([] { rows_to(3).batch(2, {.num_parallel_calls = 0}); }) ==
        "batch: expected num_parallel_calls of at least 1, or data::kAutotune, got 0.");
}

TEST_CASE("batches of consecutive rows share the tensor's memory") {
  const Tensor table = images(4);
  for (const auto& element : Dataset::from_tensor_slices(table).skip(2).batch(2)) {
    const Tensor& rows = element.tensor(0);
    CHECK(rows.raw() == table.raw() + 8);
  }
}

TEST_CASE("errors of batch") {
  CHECK(message_of<InvalidArgument>([] { rows_to(3).batch(0); }) ==
        "batch: expected a batch_size of at least 1, got 0.");
  auto uneven = Dataset::from_tensors({labels(3)}).concatenate(Dataset::from_tensors({labels(2)}));
  CHECK(uneven.element_spec().to_string() == "int64 (None,)");
  CHECK(message_of<InvalidArgument>([&] { numbers(uneven.batch(2)); }) ==
        "batch: elements of one batch must be alike, got int64 of shape (2,) as element 1 after "
        "int64 of shape (3,). Use padded_batch or ragged_batch for shapes that vary.");
}

TEST_CASE("shuffle gives each element once, in an order that the seed decides") {
  const Numbers first = numbers(rows_to(100).shuffle(100, {.seed = 7}));
  Numbers sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == numbers(rows_to(100)));
  CHECK(first != sorted);
  CHECK(first == numbers(rows_to(100).shuffle(100, {.seed = 7})));
  CHECK(first == numbers(rows_to(100).shuffle(1'000'000, {.seed = 7})));
  CHECK(first == numbers(Dataset::range(100).shuffle(100, {.seed = 7})));  // not by rows
  CHECK(first == numbers(rows_to(100).shuffle(100, {.seed = 7}).prefetch(3)));
  CHECK(first != numbers(rows_to(100).shuffle(100, {.seed = 8})));
  CHECK(contains(message_of<InvalidArgument>([] { rows_to(3).shuffle(0); }),
                 "shuffle: expected a buffer_size of at least 1, got 0."));
}

TEST_CASE("a shuffle's buffer bounds how early an element can come") {
  constexpr int64_t kBuffer = 10;
  const Numbers order = numbers(rows_to(200).shuffle(kBuffer, {.seed = 3}));
  bool late = false;
  for (int64_t position = 0; position < std::ssize(order); ++position) {
    CHECK(order[static_cast<size_t>(position)] < position + kBuffer);
    late = late || order[static_cast<size_t>(position)] < position - 2 * kBuffer;
  }
  CHECK(late);  // but not how late
  CHECK(numbers(rows_to(5).shuffle(1)) == Numbers{0, 1, 2, 3, 4});
}

TEST_CASE("a full shuffle gives every order equally often") {
  // 4! orders in 4,800 shuffles: 200 each, with a standard deviation of 13.8.
  std::array<int, 24> counts{};
  for (int64_t seed = 0; seed < 4800; ++seed) {
    Numbers order = numbers(rows_to(4).shuffle(4, {.seed = seed}));
    int rank = 0;
    while (std::prev_permutation(order.begin(), order.end())) ++rank;
    ++counts[static_cast<size_t>(rank)];
  }
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  CHECK(*least > 145);
  CHECK(*most < 255);
}

TEST_CASE("passes and repetitions shuffle anew, unless told otherwise") {
  auto dataset = rows_to(50).shuffle(50, {.seed = 1});
  const Numbers first = numbers(dataset);
  const Numbers second = numbers(dataset);
  CHECK(first != second);
  auto same_again = rows_to(50).shuffle(50, {.seed = 1});
  CHECK(numbers(same_again) == first);
  CHECK(numbers(same_again) == second);

  const Numbers twice = numbers(rows_to(50).shuffle(50, {.seed = 1}).repeat(2));
  CHECK(twice.size() == 100);
  CHECK(!std::equal(twice.begin(), twice.begin() + 50, twice.begin() + 50));

  auto once = rows_to(50).shuffle(50, {.seed = 1, .reshuffle_each_iteration = false});
  CHECK(numbers(once) == numbers(once));
  const Numbers repeated = numbers(once.repeat(2));
  CHECK(std::equal(repeated.begin(), repeated.begin() + 50, repeated.begin() + 50));
}

TEST_CASE("datasets cut from one shuffle don't overlap") {
  auto shuffled = rows_to(20).shuffle(20, {.reshuffle_each_iteration = false});
  Numbers all = numbers(shuffled.take(15));
  const Numbers rest = numbers(shuffled.skip(15));
  all.insert(all.end(), rest.begin(), rest.end());
  std::sort(all.begin(), all.end());
  CHECK(all == numbers(rows_to(20)));
}

TEST_CASE("a dataset that is used twice is shuffled anew, as in tf.data") {
  const auto halves = [](const Dataset& both) {
    const Numbers all = numbers(both);
    return std::pair(Numbers(all.begin(), all.begin() + 20), Numbers(all.begin() + 20, all.end()));
  };
  for (const std::optional<int64_t> seed : {std::optional<int64_t>(), std::optional<int64_t>(5)}) {
    const auto shuffled = rows_to(20).shuffle(20, {.seed = seed});
    const auto twice = shuffled.concatenate(shuffled);
    const auto [first, second] = halves(twice);
    CHECK(first != second);
    CHECK(first != halves(twice).first);  // that was another pass
    const auto once = rows_to(20).shuffle(20, {.seed = seed, .reshuffle_each_iteration = false});
    CHECK(halves(once.concatenate(once)).first == halves(once.concatenate(once)).second);

    const auto third = twice.concatenate(shuffled);
    const Numbers all = numbers(third);
    CHECK(Numbers(all.begin() + 20, all.begin() + 40) != Numbers(all.begin() + 40, all.end()));
    int64_t alike = 0;
    for (const auto& [a, b] :
         Dataset::zip({shuffled, shuffled.map([](const Tensor& x) { return x; })})) {
      alike += numbers(a) == numbers(b);
    }
    CHECK(alike < 15);
  }
  // Two shuffles with the same seed stay in sync.
  const auto seeded = [] { return rows_to(20).shuffle(20, {.seed = 3}); };
  for (int pass = 0; pass < 2; ++pass) {
    for (const auto& [a, b] : Dataset::zip({seeded(), seeded()})) CHECK(numbers(a) == numbers(b));
  }
}

TEST_CASE("handles that were moved from say so") {
  Dataset dataset = rows_to(3);
  auto windows = dataset.window(2);
  auto iterator = dataset.iterator();
  const Dataset other = std::move(dataset);
  const auto other_windows = std::move(windows);
  auto other_iterator = std::move(iterator);
  const char* text = "Dataset: used after it was moved from. Copy it instead: copies share.";
  CHECK(message_of<FailedPrecondition>([&] { dataset.batch(2); }) == text);
  CHECK(message_of<FailedPrecondition>([&] { other.concatenate(dataset); }) == text);
  CHECK(message_of<FailedPrecondition>([&] { Dataset::zip({other, dataset}); }) == text);
  CHECK_THROWS_AS(dataset.cardinality(), FailedPrecondition);
  CHECK_THROWS_AS(dataset.iterator(), FailedPrecondition);
  CHECK_THROWS_AS(windows.cardinality(), FailedPrecondition);
  CHECK_THROWS_AS(windows.begin(), FailedPrecondition);
  Element element;
  CHECK(message_of<FailedPrecondition>([&] { iterator.next(element); }) ==
        "Iterator: used after it was moved from.");
  CHECK_THROWS_AS(iterator.save(), FailedPrecondition);
  CHECK_THROWS_AS(iterator.restore(other_iterator.save()), FailedPrecondition);
  CHECK(numbers(other_iterator) == Numbers{0, 1, 2});
}

TEST_CASE("sizes that no machine has") {
  const int64_t many = int64_t{1} << 50;
  const auto first_of = [](const Dataset& dataset) { return numbers(dataset, 1); };
  for (const Dataset& dataset :
       {Dataset::range(many).shuffle(many), rows_to(3).repeat().shuffle(many),
        Dataset::counter().shuffle(many)}) {
    CHECK(contains(message_of<ResourceExhausted>([&] { first_of(dataset); }),
                   "shuffle: a buffer of 1125899906842624 elements takes "));
  }
  CHECK(first_of(rows_to(1).shuffle(many)) == Numbers{0});
  CHECK(first_of(Dataset::range(many).batch(2).shuffle(2)).size() == 2);
  CHECK(first_of(rows_to(1).batch(many)) == Numbers{0});
  CHECK(first_of(rows_to(1).prefetch(many)) == Numbers{0});
  const int64_t most = std::numeric_limits<int64_t>::max();
  const auto huge = Dataset::range(std::numeric_limits<int64_t>::min(), most);
  CHECK(huge.cardinality() == most);
  CHECK(huge.concatenate(huge).cardinality() == most);
  CHECK(huge.repeat(3).cardinality() == most);
  CHECK(Dataset::zip({huge, huge.concatenate(huge)}).cardinality() == most);
  CHECK_THROWS_AS(first_of(rows_to(1).batch(1).padded_batch(1, {.padded_shapes = {{many * 1000}}})),
                  Error);
}

TEST_CASE("set_random_seed decides the order of shuffles without a seed") {
  set_random_seed(5);
  const Numbers first = numbers(rows_to(50).shuffle(50));
  const Numbers other = numbers(rows_to(50).shuffle(50));
  CHECK(first != other);
  set_random_seed(5);
  CHECK(numbers(rows_to(50).shuffle(50)) == first);
}

TEST_CASE("repeat, take, skip, shard") {
  for (const bool by_rows : {true, false}) {
    CAPTURE(by_rows);
    const auto five = by_rows ? rows_to(5) : Dataset::range(5);
    CHECK(numbers(five.repeat(2)) == Numbers{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
    CHECK(numbers(five.repeat(0)).empty());
    CHECK(numbers(five.repeat(), 7) == Numbers{0, 1, 2, 3, 4, 0, 1});
    CHECK(five.repeat().cardinality() == kInfiniteCardinality);
    CHECK(five.repeat().batch(2).cardinality() == kInfiniteCardinality);
    CHECK(five.repeat(3).cardinality() == 15);
    CHECK(numbers(five.take(2)) == Numbers{0, 1});
    CHECK(numbers(five.take(-1)) == Numbers{0, 1, 2, 3, 4});
    CHECK(five.repeat().take(7).cardinality() == 7);
    CHECK(numbers(five.skip(3)) == Numbers{3, 4});
    CHECK(numbers(five.skip(9)).empty());
    CHECK(numbers(five.skip(-1)).empty());
    CHECK(five.skip(3).cardinality() == 2);
    CHECK(five.skip(9).cardinality() == 0);
    CHECK(numbers(five.shard(2, 0)) == Numbers{0, 2, 4});
    CHECK(numbers(five.shard(2, 1)) == Numbers{1, 3});
    CHECK(numbers(five.shard(7, 6)).empty());
    CHECK(numbers(five.shard(INT64_MAX, 3)) == Numbers{3});
    CHECK(numbers(five.shard(INT64_MAX, INT64_MAX - 1)).empty());
    for (int64_t index = 0; index < 7; ++index) {
      const auto part = five.shard(7, index);
      CHECK(part.cardinality() == std::ssize(numbers(part)));
    }
  }
  CHECK(message_of<InvalidArgument>([] { rows_to(5).shard(2, 2); }) ==
        "shard: expected an index in [0, 2), got 2.");
  CHECK(message_of<InvalidArgument>([] { rows_to(5).shard(0, 0); }) ==
        "shard: expected a count of at least 1, got 0.");
}

TEST_CASE("cache keeps the first pass") {
  for (const bool by_rows : {true, false}) {
    CAPTURE(by_rows);
    auto cached = (by_rows ? rows_to(30) : Dataset::range(30)).shuffle(30, {.seed = 2}).cache();
    const Numbers partly = numbers(cached, 10);  // an unfinished pass caches nothing
    const Numbers first = numbers(cached);
    CHECK(std::equal(partly.begin(), partly.end(), first.begin()));
    CHECK(numbers(cached) == first);
    CHECK(numbers(cached.repeat(2).skip(30)) == first);
    CHECK(cached.cardinality() == 30);
  }
}

TEST_CASE("enumerate, zip and concatenate") {
  auto numbered = Dataset::from_tensor_slices({images(2), labels(2)}).enumerate(5);
  CHECK(numbered.element_spec().to_string() == "(int64 (), (uint8 (2, 2), int64 ()))");
  CHECK(numbers(numbered) == Numbers{5, 0, 0, 0, 0, 0, 6, 1, 1, 1, 1, 1});

  auto zipped = Dataset::zip({Dataset::range(10, 20), rows_to(3)});
  CHECK(zipped.cardinality() == 3);
  CHECK(numbers(zipped) == Numbers{10, 0, 11, 1, 12, 2});
  CHECK(Dataset::zip({rows_to(3).repeat(), rows_to(2).repeat()}).cardinality() ==
        kInfiniteCardinality);
  CHECK(contains(message_of<InvalidArgument>([] { Dataset::zip({}); }), "expected datasets"));

  auto both = rows_to(2).concatenate(Dataset::range(7, 9));
  CHECK(both.cardinality() == 4);
  CHECK(numbers(both) == Numbers{0, 1, 7, 8});
  CHECK(message_of<InvalidArgument>(
            [] { rows_to(2).concatenate(Dataset::from_tensor_slices(images(2))); }) ==
        "concatenate: expected two datasets of the same elements, got int64 () and uint8 (2, 2).");
}

TEST_CASE("prefetch gives the same elements, and its errors where they come") {
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{5}, data::kAutotune}) {
    CAPTURE(size);
    CHECK(numbers(rows_to(20).batch(3).prefetch(size)) == numbers(rows_to(20)));
    CHECK(numbers(Dataset::range(20).prefetch(size).batch(3).prefetch(size)) ==
          numbers(rows_to(20)));
  }
  CHECK(
      contains(message_of<InvalidArgument>([] { rows_to(3).prefetch(-2); }), "kAutotune, got -2"));

  auto uneven = Dataset::from_tensors({labels(3)}).concatenate(Dataset::from_tensors({labels(2)}));
  auto iterator = Dataset::from_tensors({labels(3)})
                      .batch(2)
                      .concatenate(uneven.batch(2))
                      .prefetch(4)
                      .iterator();
  data::Element element;
  CHECK(iterator.next(element));
  for (int attempt = 0; attempt < 2; ++attempt) {
    CHECK(contains(message_of<InvalidArgument>([&] { iterator.next(element); }), "must be alike"));
  }
}

TEST_CASE("a prefetched pass may be left at any point") {
  auto endless = rows_to(10).repeat().batch(3).prefetch(2).prefetch(2);
  for (int64_t count = 0; count < 5; ++count) CHECK(numbers(endless, count).size() == 3u * count);
}

TEST_CASE("one dataset may be iterated by several threads") {
  auto dataset = rows_to(200).shuffle(50, {.seed = 1}).cache().batch(7).prefetch(2);
  std::array<Numbers, 4> results;
  std::vector<std::thread> threads;
  for (Numbers& result : results) {
    threads.emplace_back([&] {
      for (int pass = 0; pass < 5; ++pass) result = numbers(dataset);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Numbers& result : results) CHECK(result == numbers(dataset));
}

TEST_CASE("with_options") {
  data::Options options;
  CHECK(options.distribute.auto_shard_policy == data::AutoShardPolicy::Auto);
  options.distribute.auto_shard_policy = data::AutoShardPolicy::Data;
  auto dataset = rows_to(4).with_options(options).batch(2);
  CHECK(dataset.options().distribute.auto_shard_policy == data::AutoShardPolicy::Data);
  CHECK(numbers(dataset) == Numbers{0, 1, 2, 3});
}

TEST_CASE("options that are given at several places are merged") {
  const auto policy = [](const Dataset& of) { return of.options().distribute.auto_shard_policy; };
  const data::Options off{.distribute = {data::AutoShardPolicy::Off}};
  const data::Options few{.autotune = {.enabled = false, .cpu_budget = 1}, .deterministic = false};
  const Dataset both = rows_to(4).with_options(off).batch(2).with_options(few);
  CHECK(policy(both) == data::AutoShardPolicy::Off);
  CHECK(!both.options().autotune.enabled);
  CHECK(both.options().autotune.cpu_budget == 1);
  CHECK(both.options().deterministic == false);
  CHECK(policy(both.with_options({})) == data::AutoShardPolicy::Off);
  CHECK(policy(both.with_options({.distribute = {data::AutoShardPolicy::File}})) ==
        data::AutoShardPolicy::File);
  // The options of all joined datasets are merged; on conflict, those of later datasets win.
  CHECK(policy(Dataset::zip({rows_to(4), rows_to(4).with_options(off)})) ==
        data::AutoShardPolicy::Off);
  const Dataset file = rows_to(4).with_options({.distribute = {data::AutoShardPolicy::File}});
  CHECK(policy(rows_to(4).with_options(off).concatenate(file)) == data::AutoShardPolicy::File);
  CHECK(policy(file.concatenate(rows_to(4).with_options(off))) == data::AutoShardPolicy::Off);
}

TEST_CASE("a dataset joined to itself many times over takes no longer than its links") {
  Dataset dataset = rows_to(4).shuffle(4, {.seed = 1});
  for (int i = 0; i < 60; ++i) dataset = dataset.concatenate(dataset);
  CHECK(dataset.cardinality() == int64_t{1} << 62);
  CHECK(data::describe_chain(*dataset.node())
            .starts_with(std::string(60, '(') +
                         "tensor_slices(4 of int64 ()) | shuffle(4, seed 1) & link 1 again) | "
                         "concatenate & link 2 again) | concatenate"));
  auto iterator = dataset.iterator();
  numbers(iterator, 9);
  auto restored = dataset.iterator();
  restored.restore(iterator.save());
  CHECK(numbers(restored, 8) == numbers(iterator, 8));
  CHECK(numbers(dataset.skip((int64_t{1} << 62) - 5)).size() == 5);
  CHECK(numbers(dataset.skip(int64_t{1} << 62)).empty());

  // A dataset of unknown cardinality.
  Dataset some = Dataset::range(5).filter([](const Tensor& x) { return x > 2; });
  for (int i = 0; i < 60; ++i) some = some.concatenate(some);
  CHECK(numbers(some.skip((int64_t{1} << 61) - 3)) == Numbers{4, 3, 4});
  CHECK(numbers(some.skip(int64_t{1} << 62)).empty());

  const Dataset twice = rows_to(2).concatenate(rows_to(2).take(1));
  const auto chain = [](const Dataset& of) { return data::describe_chain(*of.node()); };
  CHECK(chain(Dataset::zip({twice, twice})) ==
        "((tensor_slices(2 of int64 ()) & tensor_slices(2 of int64 ()) | take(1)) | concatenate & "
        "link 3 again) | zip");
}

TEST_CASE("without a thread, prefetch makes elements when they are asked for") {
  test::Log log;
  pthread_attr_t before;
  REQUIRE(pthread_getattr_default_np(&before) == 0);
  pthread_attr_t impossible;
  REQUIRE(pthread_attr_init(&impossible) == 0);
  REQUIRE(pthread_attr_setstacksize(&impossible, size_t{1} << 47) == 0);
  REQUIRE(pthread_setattr_default_np(&impossible) == 0);
  auto iterator = Dataset::range(5).prefetch(2).iterator();
  const auto given = numbers(iterator, 2);
  const Json position = iterator.save();
  const auto rest = numbers(iterator);
  REQUIRE(pthread_setattr_default_np(&before) == 0);
  CHECK(given == std::vector<int64_t>{0, 1});
  CHECK(rest == std::vector<int64_t>{2, 3, 4});
  CHECK(log.text().find("prefetch: elements are made when they are asked for, since no thread can "
                        "be started: ") != std::string::npos);
  auto restored = Dataset::range(5).prefetch(2).iterator();
  restored.restore(position);
  CHECK(numbers(restored) == rest);
}

TEST_CASE("numbers that enumerate doesn't have are told") {
  const auto numbered = rows_to(3).enumerate(INT64_MAX - 1);
  auto iterator = numbered.iterator();
  CHECK(numbers(iterator, 2) == std::vector<int64_t>{INT64_MAX - 1, 0, INT64_MAX, 1});
  data::Element element;
  CHECK_THROWS_WITH_AS(iterator.next(element),
                       "enumerate: element 2 has no number from 9223372036854775806 on that fits "
                       "an int64.",
                       OutOfRange);
}
