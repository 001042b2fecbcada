// SPDX-License-Identifier: Apache-2.0
// Windows of time series, and datasets split in two.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "data/python_random.h"
#include "data/split_dataset.h"
#include "data/timeseries_dataset.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::timeseries_dataset_from_array;
using Numbers = std::vector<int64_t>;

namespace {

Tensor steps(int64_t count, int64_t first = 0) {
  Numbers values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return Tensor::from(values);
}

}  // namespace

TEST_CASE("where no window comes, an empty one tells what would") {
  const auto none = Dataset::range(2).window(3, {.drop_remainder = true});
  const auto batches = none.flat_map([](const Dataset& w) { return w.batch(3); });
  CHECK(batches.element_spec().to_string() == "int64 (None,)");
  CHECK(numbers(batches).empty());
  CHECK(message_of<InvalidArgument>(
            [&] { none.map([](const Dataset& w) { return w.get_single_element(); }); }) ==
        "window: expected a first element, from whose dataset the types of all are inferred, got "
        "none. Pass output_signature if there may be none.");
}

TEST_CASE("timeseries_dataset_from_array gives windows and the targets of their first steps") {
  const auto dataset = timeseries_dataset_from_array(steps(10), steps(10, 100), 3,
                                                     {.sequence_stride = 2, .batch_size = 3});
  CHECK(dataset.element_spec().to_string() == "(int64 (None, 3), int64 (None,))");
  CHECK(numbers(dataset) == Numbers{0, 1, 2, 2, 3, 4, 4, 5, 6, 100, 102, 104, 6, 7, 8, 106});
  CHECK(numbers(dataset.skip(1)) == Numbers{6, 7, 8, 106});
  const Tensor pairs = Tensor::from(Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {6, 2});
  const auto windows = timeseries_dataset_from_array(
      pairs, {}, 2,
      {.sampling_rate = 2, .batch_size = std::nullopt, .start_index = 1, .end_index = 5});
  CHECK(windows.element_spec().to_string() == "int64 (2, 2)");
  CHECK(numbers(windows) == Numbers{2, 3, 6, 7, 4, 5, 8, 9});
  // Fewer targets than windows, as in Keras.
  CHECK(numbers(timeseries_dataset_from_array(steps(6), steps(2), 2)) == Numbers{0, 1, 1, 2, 0, 1});
}

TEST_CASE("windows are shuffled by their first steps, the same for a seed") {
  const auto of = [](int64_t seed) {
    return timeseries_dataset_from_array(steps(50), {}, 1,
                                         {.batch_size = 8, .shuffle = true, .seed = seed});
  };
  const Numbers first = numbers(of(3));
  CHECK(numbers(of(3)) == first);
  CHECK(numbers(of(4)) != first);
  Numbers sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == numbers(rows_to(50)));
  const auto dataset = of(3);
  numbers(dataset);
  CHECK(numbers(dataset) != first);
}

TEST_CASE("timeseries_dataset_from_array says which numbers don't go together") {
  const auto error_of = [](int64_t length, const data::TimeseriesOptions& options) {
    return message_of<InvalidArgument>(
        [&] { timeseries_dataset_from_array(steps(10), {}, length, options); });
  };
  const std::string begin = "timeseries_dataset_from_array: ";
  CHECK(error_of(0, {}) ==
        begin + "expected sequence_length of 1 to 10 for data of 10 steps, got 0.");
  CHECK(error_of(2, {.sampling_rate = 10}) ==
        begin + "expected sampling_rate of 1 to 9 for data of 10 steps, got 10.");
  CHECK(error_of(2, {.start_index = 4, .end_index = 4}) ==
        begin + "expected end_index of 5 to 9 for data of 10 steps, got 4.");
  CHECK(error_of(6, {.sampling_rate = 2}) ==
        begin + "there is no window of 6 steps, 2 apart, in [0, 10).");
  CHECK(message_of<InvalidArgument>([] {
          timeseries_dataset_from_array(steps(10), steps(6), 2, {.start_index = 5});
        }) == begin + "expected targets up to step 8, got 6.");
}

TEST_CASE("PythonRandom shuffles as Python does") {
  const auto shuffled = [](int64_t seed) {
    Numbers numbers(10);
    std::iota(numbers.begin(), numbers.end(), 0);
    data::PythonRandom(seed).shuffle(std::span(numbers));
    return numbers;
  };
  CHECK(shuffled(7) == Numbers{8, 3, 1, 4, 7, 0, 9, 6, 2, 5});
  CHECK(shuffled((int64_t{1} << 40) + 5) == Numbers{1, 2, 3, 6, 7, 0, 5, 4, 9, 8});
}

TEST_CASE("split_dataset divides examples, in order or shuffled as Keras does") {
  const auto both = [](const Dataset& dataset, const data::SplitDatasetOptions& options) {
    const auto parts = data::split_dataset(dataset, options);
    return std::pair(numbers(parts.first), numbers(parts.second));
  };
  CHECK(both(Dataset::range(5), {.left_size = 0.6}) == std::pair(Numbers{0, 1, 2}, Numbers{3, 4}));
  CHECK(both(Dataset::range(5), {.right_size = 1}) == std::pair(Numbers{0, 1, 2, 3}, Numbers{4}));
  CHECK(both(Dataset::range(5), {.left_size = 1, .right_size = 0.4}) ==
        std::pair(Numbers{0}, Numbers{3, 4}));
  CHECK(both(Dataset::range(10), {.left_size = 8, .shuffle = true, .seed = 7}) ==
        std::pair(Numbers{8, 3, 1, 4, 7, 0, 9, 6}, Numbers{2, 5}));
  const auto parts = data::split_dataset(rows_to(7).batch(2), {.left_size = 5});
  CHECK(parts.first.element_spec().to_string() == "int64 (None,)");
  CHECK(parts.first.cardinality() == 3);
  CHECK(numbers(parts.first.skip(2)) == Numbers{4});
  CHECK(numbers(parts.second) == Numbers{5, 6});
}

TEST_CASE("split_dataset takes batches apart, and nothing else") {
  const auto both = [](const Dataset& dataset) {
    const auto [left, right] = data::split_dataset(dataset, {.left_size = 0.5});
    return fmt::format("{}: {} | {}", left.element_spec().to_string(),
                       fmt::join(numbers(left), " "), fmt::join(numbers(right), " "));
  };
  const Dataset batched = Dataset::range(4).batch(2);
  const Dataset triples =
      Dataset::from_tensor_slices(Tensor::from(Numbers{4, 5, 6, 7, 8, 9}, {2, 3}));
  CHECK(both(batched.enumerate()) == "(int64 (), int64 (None,)): 0 0 1 | 1 2 3");
  CHECK(both(batched.map([](const Tensor& x) { return ops::sum(x); })) == "int64 (): 1 | 5");
  CHECK(both(Dataset::zip({batched, Dataset::range(2)})) ==
        "(int64 (None,), int64 ()): 0 1 0 | 2 3 1");
  CHECK(both(Dataset::zip({Dataset::range(2), batched})) ==
        "(int64 (), int64 (None,)): 0 0 1 | 1 2 3");
  CHECK(both(Dataset::zip({batched, triples})) ==
        "(int64 (None,), int64 (3,)): 0 1 4 5 6 | 2 3 7 8 9");
  CHECK(both(batched.concatenate(Dataset::range(4, 6).batch(1))) == "int64 (None,): 0 1 2 3 | 4 5");
  // Transforms that keep batches, or their rows.
  CHECK(both(Dataset::zip({batched, batched})) ==
        "(int64 (None,), int64 (None,)): 0 1 0 1 | 2 3 2 3");
  CHECK(both(batched.concatenate(batched)) == "int64 (None,): 0 1 2 3 | 0 1 2 3");
  const auto left_of = [](const Dataset& dataset) {
    return numbers(data::split_dataset(dataset, {.left_size = 3}).first);
  };
  const auto doubled = [](const Tensor& x) { return x * 2; };
  CHECK(left_of(batched.skip(0).cache().repeat(1).prefetch(1).ignore_errors()) == Numbers{0, 1, 2});
  CHECK(left_of(rows_to(4).map(doubled).batch(2)) == Numbers{0, 2, 4});
  CHECK(
      message_of<InvalidArgument>([&] {
        data::split_dataset(Dataset::zip({batched, Dataset::range(3).batch(2)}), {.left_size = 1});
      }) == "unbatch: expected as many rows in all tensors of a batch, got 2 and 1 in batch 1.");
}

TEST_CASE("split_dataset says which sizes don't go together") {
  const auto error_of = [](const data::SplitDatasetOptions& options) {
    return message_of<InvalidArgument>([&] { data::split_dataset(Dataset::range(5), options); });
  };
  CHECK(error_of({}) == "split_dataset: expected left_size or right_size, got none.");
  CHECK(error_of({.left_size = 5}) ==
        "split_dataset: expected a left_size between 0 and 5 (the examples there are), got 5.");
  CHECK(error_of({.right_size = 1.5}) ==
        "split_dataset: expected a right_size between 0 and 1, got 1.5.");
  CHECK(error_of({.left_size = 0.05}) ==
        "split_dataset: 5 examples can't be divided into 0 and 5.");
  CHECK(error_of({.left_size = 3, .right_size = 3}) ==
        "split_dataset: 5 examples can't be divided into 3 and 3.");
  CHECK(message_of<InvalidArgument>([] {
          data::split_dataset(Dataset::range(5).repeat(), {.left_size = 3});
        }) == "split_dataset: the dataset never ends.");
}
