// SPDX-License-Identifier: Apache-2.0
// Transforms that cut, join and choose, with the results of tf.data.
#include <doctest/doctest.h>

#include <cmath>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;
using Numbers = std::vector<int64_t>;

namespace {

// The numbers of each element.
std::vector<Numbers> lists(const Dataset& dataset) {
  std::vector<Numbers> result;
  for (const Element& element : dataset) {
    result.emplace_back();
    for (const Tensor& tensor : element.tensors()) {
      const Numbers part = numbers(tensor);
      result.back().insert(result.back().end(), part.begin(), part.end());
    }
  }
  return result;
}
using Lists = std::vector<Numbers>;

int64_t value(const Tensor& x) { return x.item<int64_t>(); }

data::ElementSpec of_numbers(const Shape& shape = {}) {
  return {.types = {{DType::Int64, shape}}, .structure = {}};
}

// x repeated x times, for x = 1, 2, …
Dataset ragged_to(int64_t count) {
  return Dataset::range(1, count + 1).flat_map([](const Tensor& x) {
    return Dataset::from_tensors(ops::full({value(x)}, x, x.dtype()));
  });
}

}  // namespace

TEST_CASE("take_while") {
  const auto small = [](const Tensor& x) { return ops::less(ops::mod(x, 5), 3); };
  CHECK(numbers(Dataset::range(20).take_while(small)) == Numbers{0, 1, 2});
  CHECK(numbers(Dataset::range(3, 20).take_while(small)) == Numbers{});
  CHECK(!Dataset::range(9).repeat().take_while(small).cardinality());
  CHECK(contains(message_of<InvalidArgument>(
                     [] { Dataset::range(3).take_while([](const Tensor& x) { return x; }); }),
                 "the predicate gives int64 (), expected a bool scalar"));
}

TEST_CASE("unbatch") {
  CHECK(numbers(rows_to(7).batch(3).unbatch()) == numbers(rows_to(7)));
  CHECK(lists(Dataset::zip({rows_to(3), rows_to(3)}).batch(2).unbatch()) ==
        Lists{{0, 0}, {1, 1}, {2, 2}});
  CHECK(!rows_to(4).batch(2).unbatch().cardinality());
  CHECK(rows_to(5).batch(2, {.drop_remainder = true}).unbatch().cardinality() == 4);
  CHECK(numbers(rows_to(0).batch(3).unbatch()) == Numbers{});
  CHECK(numbers(ragged_to(3).unbatch()) == Numbers{1, 2, 2, 3, 3, 3});
  CHECK(message_of<InvalidArgument>([] { rows_to(3).unbatch(); }) ==
        "unbatch: expected a dataset of batches, but its elements are int64 ().");
}

TEST_CASE("padded_batch") {
  const auto padded = ragged_to(3).padded_batch(2);
  CHECK(padded.element_spec().to_string() == "int64 (None, None)");
  CHECK(lists(padded) == Lists{{1, 0, 2, 2}, {3, 3, 3}});
  CHECK(lists(ragged_to(3).padded_batch(
            2, {.padded_shapes = {{4}}, .padding_values = {Tensor(-1)}, .drop_remainder = true})) ==
        Lists{{1, -1, -1, -1, 2, 2, -1, -1}});
  CHECK(Dataset::range(5).padded_batch(2).cardinality() == 3);
  CHECK(message_of<InvalidArgument>(
            [] { numbers(ragged_to(5).padded_batch(2, {.padded_shapes = {{3}}})); }) ==
        "padded_batch: element 3 has a tensor of shape (4,), which is larger than the padded "
        "shape (3,).");
  CHECK(message_of<InvalidArgument>(
            [] { ragged_to(5).padded_batch(2, {.padded_shapes = {{-5}}}); }) ==
        "padded_batch: expected sizes of at least 0, or kUnknown, as padded_shapes, got (-5,) for "
        "tensor 0.");
  const auto pairs = ragged_to(2).map([](const Tensor& x) { return std::pair(x, x * 2); });
  const auto second = [](const Dataset& batches) {
    return lists(batches.map([](const Tensor&, const Tensor& y) { return y; }));
  };
  CHECK(second(pairs.padded_batch(2, {.padding_values = {Tensor(-1)}})) == Lists{{2, -1, 4, 4}});
  CHECK(second(pairs.padded_batch(2, {.padding_values = {Tensor(-1), Tensor()}})) ==
        Lists{{2, 0, 4, 4}});
  // Two axes of varying size.
  const auto grids = Dataset::range(1, 3).flat_map([](const Tensor& x) {
    return Dataset::from_tensors(ops::full({value(x), 3 - value(x)}, x, x.dtype()));
  });
  CHECK(lists(grids.padded_batch(2)) == Lists{{1, 1, 0, 0, 2, 0, 2, 0}});
}

TEST_CASE("ragged_batch") {
  const auto ragged = Dataset::zip({ragged_to(3), rows_to(3)}).ragged_batch(2);
  CHECK(ragged.element_spec().to_string() ==
        "({values: int64 (None,), row_splits: int64 (None,)}, int64 (None,))");
  CHECK(lists(ragged) == Lists{{1, 2, 2, 0, 1, 3, 0, 1}, {3, 3, 3, 0, 3, 2}});
  const auto small = ragged_to(3).ragged_batch(2, {.row_splits_dtype = DType::Int32});
  CHECK(small.element_spec().to_string() == "{values: int64 (None,), row_splits: int32 (None,)}");
  CHECK(lists(small) == Lists{{1, 2, 2, 0, 1, 3}, {3, 3, 3, 0, 3}});
  for (const Element& batch : small) CHECK(batch["row_splits"].dtype() == DType::Int32);
  CHECK(message_of<InvalidArgument>([] {
          ragged_to(3).ragged_batch(2, {.row_splits_dtype = DType::Float32});
        }) == "ragged_batch: expected a row_splits_dtype of int64 or int32, got float32.");
}

TEST_CASE("flat_map") {
  const auto growing =
      Dataset::range(4).flat_map([](const Tensor& x) { return Dataset::range(value(x)); });
  CHECK(numbers(growing) == Numbers{0, 0, 1, 0, 1, 2});
  CHECK(numbers(growing.repeat(2).skip(7)) == Numbers{0, 1, 0, 1, 2});
  CHECK(!growing.cardinality());
  const auto by_pairs =
      Dataset::zip({rows_to(3), rows_to(3)}).flat_map([](const Tensor& x, const Tensor& y) {
        return Dataset::from_tensors(x + y);
      });
  CHECK(numbers(by_pairs) == Numbers{0, 2, 4});
  const auto of_none = [](const Tensor&) { return Dataset::range(0); };
  CHECK(message_of<InvalidArgument>([&] { Dataset::range(0).flat_map(of_none); }) ==
        "flat_map: expected a first element, from whose dataset the types of all are inferred, got "
        "none. Pass output_signature if there may be none.");
  CHECK(numbers(Dataset::range(0).flat_map(of_none, {.output_signature = of_numbers()})).empty());
  const auto changing = Dataset::range(2).flat_map([](const Tensor& x) {
    return value(x) == 0 ? Dataset::range(1) : Dataset::from_tensors(Tensor::scalar(1.5f));
  });
  CHECK(message_of<InvalidArgument>([&] { numbers(changing); }) ==
        "flat_map: expected datasets of elements of the kind int64 (), got float32 (). Where they "
        "differ, give output_signature, with kUnknown for axes that vary.");
}

TEST_CASE("what is shuffled in inner datasets is the same for a seed, and anew for each element") {
  const auto shuffled = [] {
    set_random_seed(3);
    return Dataset::range(3).flat_map([](const Tensor&) { return Dataset::range(30).shuffle(30); });
  };
  const Numbers once = numbers(shuffled());
  CHECK(once == numbers(shuffled()));
  CHECK(!std::equal(once.begin(), once.begin() + 30, once.begin() + 30));
  const auto dataset = shuffled();
  CHECK(numbers(dataset) == once);
  CHECK(numbers(dataset) != once);
}

TEST_CASE("interleave has tf.data's order, at any parallelism") {
  const auto tens = [](const Tensor& x) {
    return Dataset::range(value(x) * 10, value(x) * 10 + value(x) % 4);
  };
  const auto copies = [](const Tensor& x) { return Dataset::from_tensors(x).repeat(value(x) % 4); };
  for (const int64_t calls : {1, 2, 8}) {
    CAPTURE(calls);
    CHECK(numbers(Dataset::range(1, 8).interleave(
              tens, {.cycle_length = 2, .num_parallel_calls = calls})) ==
          Numbers{10, 20, 21, 30, 31, 32, 50, 60, 70, 61, 71, 72});
    CHECK(numbers(Dataset::range(1, 8).interleave(
              tens, {.cycle_length = 3, .block_length = 2, .num_parallel_calls = calls})) ==
          Numbers{10, 20, 21, 30, 31, 32, 50, 60, 61, 70, 71, 72});
    CHECK(numbers(Dataset::range(9).interleave(
              copies, {.cycle_length = 3, .block_length = 2, .num_parallel_calls = calls})) ==
          Numbers{1, 2, 2, 3, 3, 3, 5, 6, 6, 7, 7, 7});
  }
  CHECK(message_of<InvalidArgument>([&] {
          Dataset::range(3).interleave(tens, {.cycle_length = 0});
        }) == "interleave: expected a cycle_length of at least 1, or data::kAutotune, got 0.");
}

TEST_CASE("interleave has as many threads as it is given, however many datasets are open") {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto rows = [&](const Tensor& x) {
    return Dataset::range(value(x), value(x) + 20)
        .map(
            [&](const Tensor& y) {
              const std::lock_guard lock(mutex);
              threads.insert(std::this_thread::get_id());
              return y + value(y) * 0;
            },
            {.output_signature = of_numbers(), .traced = false});
  };
  const auto make = [&](std::optional<int64_t> calls, int64_t block) {
    return Dataset::range(200).interleave(rows, {.cycle_length = 100,
                                                 .block_length = block,
                                                 .num_parallel_calls = calls,
                                                 .output_signature = of_numbers()});
  };
  for (const int64_t block : {1, 7}) {
    const Numbers serial = numbers(make({}, block));
    threads.clear();
    CHECK(numbers(make(3, block)) == serial);
    CHECK(threads.size() <= 3);
  }
  auto left = make(3, 2).iterator();  // left in the middle
  numbers(left, 150);
}

TEST_CASE("a cycle of any length") {
  const auto two = [](const Tensor& x) { return Dataset::from_tensors(x).repeat(2); };
  const auto make = [&](int64_t cycle) {
    return Dataset::range(3).interleave(two, {.cycle_length = cycle});
  };
  CHECK(numbers(make(int64_t{1} << 60)) == Numbers{0, 1, 2, 0, 1, 2});
  for (int64_t stop = 0; stop <= 6; ++stop) {
    auto iterator = make(int64_t{1} << 60).iterator();
    numbers(iterator, stop);
    auto restored = make(int64_t{1} << 60).iterator();
    restored.restore(iterator.save());
    CHECK(numbers(restored) == numbers(iterator));
  }
}

TEST_CASE("what a user's function throws is told with the stage and the element") {
  const auto error_of = [](const Dataset& dataset) {
    std::string inner;
    std::string text;
    try {
      numbers(dataset);
    } catch (const InvalidArgument& error) {
      text = error.what();
      try {
        std::rethrow_if_nested(error);
      } catch (const std::runtime_error& nested) {
        inner = nested.what();
      }
    }
    CHECK(inner == "no luck");
    return text;
  };
  const auto unlucky = [](const Tensor& x) {
    if (value(x) == 2) throw std::runtime_error("no luck");
    return x;
  };
  for (const std::optional<int64_t> calls : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const data::MapOptions how = {.num_parallel_calls = calls, .traced = false};
    CHECK(error_of(Dataset::range(4).map(unlucky, how)) == "map, element 2: no luck");
    CHECK(error_of(Dataset::range(4).map(unlucky, how).prefetch(2).batch(2)) ==
          "map, element 2: no luck");
  }
  const auto made = [=](const Tensor& x) { return Dataset::from_tensors(unlucky(x)); };
  CHECK(error_of(Dataset::range(4).flat_map(made)) == "flat_map, element 2: no luck");
  CHECK(error_of(Dataset::range(4).interleave(made, {.num_parallel_calls = 2})) ==
        "interleave, element 2: no luck");
  CHECK(error_of(Dataset::range(4).group_by_window([](const Tensor& x) { return x; },
                                                   [](int64_t key, const Dataset& group) {
                                                     if (key == 2)
                                                       throw std::runtime_error("no luck");
                                                     return group;
                                                   },
                                                   1)) == "group_by_window, element 2: no luck");
  CHECK(error_of(Dataset::range(2).group_by_window(
            [](const Tensor& x) { return x; }, [](int64_t, const Dataset& group) { return group; },
            [](int64_t key) -> int64_t {
              if (key == 1) throw std::runtime_error("no luck");
              return 1;
            })) == "group_by_window, window_size_func of the key 1: no luck");
  CHECK(error_of(Dataset::from_generator([] {
          return [i = int64_t{0}]() mutable -> std::optional<Element> {
            if (i == 2) throw std::runtime_error("no luck");
            return Tensor::scalar(i++);
          };
        })) == "from_generator, element 2: no luck");
  CHECK(error_of(Dataset::range(4).scan(Tensor::scalar(int64_t{0}),
                                        [=](const Tensor& s, const Tensor& x) {
                                          return std::pair(s, unlucky(x));
                                        })) == "scan, element 2: no luck");
  CHECK_THROWS_AS(Dataset::range(2, 3).map(unlucky, {.traced = false}), InvalidArgument);
}

TEST_CASE("window") {
  const auto windows = [](int64_t count, int64_t size, const data::WindowOptions& options) {
    const auto made = Dataset::range(count).window(size, options);
    Lists result;
    for (const Dataset& window : made) result.push_back(numbers(window));
    CHECK(made.cardinality() == std::ssize(result));
    return result;
  };
  CHECK(windows(7, 3, {}) == Lists{{0, 1, 2}, {3, 4, 5}, {6}});
  CHECK(windows(7, 3, {.drop_remainder = true}) == Lists{{0, 1, 2}, {3, 4, 5}});
  CHECK(windows(5, 3, {.shift = 1, .drop_remainder = true}) ==
        Lists{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}});
  CHECK(windows(4, 3, {.shift = 1}) == Lists{{0, 1, 2}, {1, 2, 3}, {2, 3}, {3}});
  CHECK(windows(7, 2, {.shift = 4, .stride = 2}) == Lists{{0, 2}, {4, 6}});
  CHECK(windows(8, 2, {.shift = 4, .stride = 2, .drop_remainder = true}) == Lists{{0, 2}, {4, 6}});
  CHECK(windows(7, 3, {.shift = 2, .stride = 2}) == Lists{{0, 2, 4}, {2, 4, 6}, {4, 6}, {6}});
  CHECK(windows(7, 2, {.shift = 5}) == Lists{{0, 1}, {5, 6}});
  CHECK(windows(0, 2, {}).empty());

  const auto threes = Dataset::range(7).window(3);
  CHECK(lists(threes.flat_map([](const Dataset& w) { return w.batch(3); })) ==
        Lists{{0, 1, 2}, {3, 4, 5}, {6}});
  const auto sums = threes.map([](const Dataset& w) {
    return w.reduce(Tensor::scalar(int64_t{0}),
                    [](const Tensor& sum, const Tensor& x) { return sum + x; });
  });
  CHECK(numbers(sums) == Numbers{3, 12, 6});
  CHECK(sums.cardinality() == 3);
  CHECK(message_of<InvalidArgument>([] { Dataset::range(3).window(0); }) ==
        "window: expected a size of at least 1, got 0.");
}

TEST_CASE("group_by_window") {
  const auto by_three = [](const Tensor& x) { return ops::mod(x, 3); };
  const auto batches = [](int64_t, const Dataset& w) { return w.batch(4); };
  const auto grouped = Dataset::range(10).group_by_window(by_three, batches, 2);
  CHECK(lists(grouped) == Lists{{0, 3}, {1, 4}, {2, 5}, {6, 9}, {7}, {8}});
  CHECK(grouped.element_spec().to_string() == "int64 (None,)");
  const auto by_key =
      Dataset::range(10).group_by_window(by_three, batches, [](int64_t key) { return key + 1; });
  CHECK(lists(by_key) == Lists{{0}, {3}, {1, 4}, {6}, {2, 5, 8}, {9}, {7}});
  CHECK(message_of<InvalidArgument>([&] {
          Dataset::range(10).group_by_window(by_three, batches, 0);
        }) == "group_by_window: expected a window_size of at least 1, got 0 for the key 0.");
}

TEST_CASE("bucket_by_sequence_length") {
  const auto sequences = [](int64_t most) {
    return Dataset::range(12).flat_map([most](const Tensor& x) {
      return Dataset::from_tensors(ops::full({value(x) % most + 1}, x, x.dtype()));
    });
  };
  const auto length = [](const Tensor& x) { return ops::sum(ops::ones_like(x)); };
  CHECK(lists(sequences(5).bucket_by_sequence_length(length, {3, 5}, {2, 3, 2})) ==
        Lists{{0, 0, 1, 1},
              {5, 0, 6, 6},
              {2, 2, 2, 0, 3, 3, 3, 3, 7, 7, 7, 0},
              {4, 4, 4, 4, 4, 9, 9, 9, 9, 9},
              {10, 0, 11, 11},
              {8, 8, 8, 8}});
  const auto to_boundary = sequences(3).bucket_by_sequence_length(
      length, {3, 5}, {2, 3, 2}, {.pad_to_bucket_boundary = true, .drop_remainder = true});
  CHECK(lists(to_boundary) == Lists{{0, 0, 1, 1},
                                    {3, 0, 4, 4},
                                    {6, 0, 7, 7},
                                    {2, 2, 2, 0, 5, 5, 5, 0, 8, 8, 8, 0},
                                    {9, 0, 10, 10}});
  CHECK(message_of<InvalidArgument>([&] {
          numbers(sequences(5).bucket_by_sequence_length(length, {3, 5}, {2, 3, 2},
                                                         {.pad_to_bucket_boundary = true}));
        }) ==
        "bucket_by_sequence_length: with pad_to_bucket_boundary, expected lengths below the last "
        "boundary, 5, got a longer element.");
  CHECK(message_of<InvalidArgument>(
            [&] { sequences(5).bucket_by_sequence_length(length, {3}, {2}); }) ==
        "bucket_by_sequence_length: expected 2 bucket_batch_sizes, one more than boundaries, got "
        "1.");
  CHECK(message_of<InvalidArgument>([&] {
          sequences(5).bucket_by_sequence_length(length, {5, 3}, {2, 2, 2});
        }) ==
        "bucket_by_sequence_length: expected bucket_boundaries in ascending order, got 5, 3.");
  const int64_t many = int64_t{1} << 60;
  CHECK_THROWS_AS(numbers(sequences(3).bucket_by_sequence_length(length, {many}, {many, 1},
                                                                 {.pad_to_bucket_boundary = true})),
                  Error);
}

TEST_CASE("scan and reduce") {
  const auto sums = Dataset::range(1, 6).scan(
      Tensor::scalar(int64_t{10}),
      [](const Tensor& sum, const Tensor& x) { return std::pair(sum + x, sum * x); });
  CHECK(numbers(sums) == Numbers{10, 22, 39, 64, 100});
  CHECK(numbers(sums) == numbers(sums));
  CHECK(sums.cardinality() == 5);
  const auto add = [](const Tensor& sum, const Tensor& x) { return sum + x; };
  CHECK(value(Dataset::range(5).reduce(Tensor::scalar(int64_t{0}), add).tensor(0)) == 10);
  CHECK(value(Dataset::range(0).reduce(Tensor::scalar(int64_t{7}), add).tensor(0)) == 7);
  const auto two =
      Dataset::range(5).reduce(Element{Tensor::scalar(int64_t{0}), Tensor::scalar(int64_t{1})},
                               [](const Element& state, const Tensor& x) {
                                 return Element{state.tensor(0) + x, state.tensor(1) * (x + 1)};
                               });
  CHECK(value(two.tensor(0)) == 10);
  CHECK(value(two.tensor(1)) == 120);
  CHECK(message_of<InvalidArgument>([] {
          Dataset::range(5).scan(Tensor::scalar(1.0f),
                                 [](const Tensor&, const Tensor& x) { return std::pair(x, x); });
        }) == "scan: expected a next state like the one before, float32 (), got int64 ().");
  CHECK(message_of<InvalidArgument>([] {
          Dataset::range(5).scan(Tensor::scalar(1.0f), [](const Tensor&, const Tensor& x) {
            return Element{x, x, x};
          });
        }) ==
        "scan: expected a function that gives a pair of the next state, float32 (), and an "
        "element, got (int64 (), int64 (), int64 ()).");
}

TEST_CASE("unique takes tensors of any dtype") {
  const auto of = [](const Tensor& t) { return Dataset::from_tensor_slices(t).unique(); };
  using Texts = std::vector<std::string>;
  CHECK(texts(of(Tensor::from(Texts{"b", "a", "b", "", "a", ""}))) == Texts{"b", "a", ""});
  CHECK(texts(of(Tensor::from(Texts{"ab", "c", "a", "bc", "ab", "c"}, {3, 2}))) ==
        Texts{"ab", "c", "a", "bc"});
  int64_t count = 0;
  for (const Element& element : of(Tensor::from({1.5f, 2.0f, 1.5f}))) {
    count += element.tensor(0).dtype() == DType::Float32;
  }
  CHECK(count == 2);
  CHECK(message_of<InvalidArgument>([] { rows_to(3).enumerate().unique(); }) ==
        "unique: expected elements of one tensor, got (int64 (), int64 ()).");
}

TEST_CASE("unique, counter, apply and single elements") {
  CHECK(
      numbers(Dataset::range(9).map([](const Tensor& x) { return ops::mod(x * 2, 5); }).unique()) ==
      Numbers{0, 2, 4, 1, 3});
  CHECK(numbers(Dataset::counter(), 3) == Numbers{0, 1, 2});
  CHECK(numbers(Dataset::counter(5, -2).skip(1), 3) == Numbers{3, 1, -1});
  CHECK(Dataset::counter().cardinality() == kInfiniteCardinality);
  CHECK(numbers(Dataset::range(4).apply([](const Dataset& d) { return d.skip(2); })) ==
        Numbers{2, 3});
  CHECK(value(Dataset::range(3, 4).get_single_element().tensor(0)) == 3);
  CHECK(message_of<InvalidArgument>([] { Dataset::range(2).get_single_element(); }) ==
        "get_single_element: expected a dataset of one element, got more.");
  CHECK(message_of<InvalidArgument>([] { Dataset::range(0).get_single_element(); }) ==
        "get_single_element: expected a dataset of one element, got none.");
}

TEST_CASE("random numbers without end") {
  const auto first = Dataset::random({.seed = 4});
  const Numbers drawn = numbers(first, 1000);
  CHECK(drawn == numbers(first, 1000));
  CHECK(drawn != numbers(Dataset::random({.seed = 5}), 1000));
  const auto anew = Dataset::random({.seed = 4, .rerandomize_each_iteration = true});
  CHECK(numbers(anew, 9) != numbers(anew, 9));
  double sum = 0;
  for (const int64_t number : drawn) {
    CHECK((0 <= number && number < int64_t{1} << 32));
    sum += static_cast<double>(number);
  }
  CHECK(std::abs(sum / 1000 / 0x1p32 - 0.5) < 0.04);
}

TEST_CASE("choose_from_datasets and sample_from_datasets") {
  const std::vector<Dataset> both = {Dataset::range(3), Dataset::range(10, 15)};
  const auto choices =
      Dataset::from_tensor_slices(Tensor::from(Numbers{0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1}));
  CHECK(numbers(Dataset::choose_from_datasets(both, choices)) == Numbers{0, 10, 11, 1, 2});
  CHECK(numbers(Dataset::choose_from_datasets(both, choices, {.stop_on_empty_dataset = false})) ==
        Numbers{0, 10, 11, 1, 2, 12, 13, 14});
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { numbers(Dataset::choose_from_datasets(both, Dataset::range(3))); }),
                 "expected a choice in [0, 2), got 2 as choice 2."));

  const auto sampled = Dataset::sample_from_datasets(
      {Dataset::range(1000), Dataset::range(1000, 4000)}, {.weights = {1, 3}, .seed = 2});
  const Numbers order = numbers(sampled);
  CHECK(order.size() == 4000);
  CHECK(order == numbers(sampled));
  const auto early =
      std::count_if(order.begin(), order.begin() + 2000, [](int64_t x) { return x < 1000; });
  CHECK(std::abs(static_cast<double>(early) - 500) < 80);
  CHECK(numbers(Dataset::sample_from_datasets(both, {.weights = {0, 2}, .seed = 1})) ==
        Numbers{10, 11, 12, 13, 14});
  CHECK(message_of<InvalidArgument>([&] {
          Dataset::sample_from_datasets(both, {.weights = {1}});
        }) == "sample_from_datasets: expected 2 weights, one for each dataset, got 1.");
}

TEST_CASE("sampling goes on with what has elements, however small its weight") {
  const auto make = [](std::vector<double> weights) {
    return Dataset::sample_from_datasets({Dataset::range(3), Dataset::range(10, 15)},
                                         {.weights = std::move(weights), .seed = 3});
  };
  using Numbers = std::vector<int64_t>;
  CHECK(numbers(make({1, 1e-200})) == Numbers{0, 1, 2, 10, 11, 12, 13, 14});
  CHECK(numbers(make({1e-300, 1e300})) == Numbers{10, 11, 12, 13, 14, 0, 1, 2});
  for (const auto& weights : {std::vector<double>{}, std::vector<double>{1, 1e-200}}) {
    const Numbers expected = numbers(make(weights));
    for (int64_t taken = 0; taken <= 8; ++taken) {
      auto iterator = make(weights).iterator();
      Numbers all = numbers(iterator, taken);
      auto restored = make(weights).iterator();
      restored.restore(iterator.save());
      for (const int64_t number : numbers(restored)) all.push_back(number);
      CHECK(all == expected);
    }
  }
}

TEST_CASE("rejection_resample brings classes to the target") {
  const auto rare = [](const Tensor& x) {
    return ops::cast(ops::equal(ops::mod(x, 10), 0), "int64");
  };
  for (const bool told : {true, false}) {
    data::RejectionResampleOptions options{.seed = 3};
    if (told) options.initial_dist = {0.9, 0.1};
    const auto even = Dataset::range(20'000).rejection_resample(rare, {0.5, 0.5}, options);
    CHECK(even.element_spec().to_string() == "(int64 (), int64 ())");
    double ones = 0;
    double all = 0;
    for (const auto& [key, x] : even) {
      CHECK((value(x) % 10 == 0) == (value(key) == 1));
      ones += static_cast<double>(value(key));
      all += 1;
    }
    CHECK(all > 3000);
    CHECK(std::abs(ones / all - 0.5) < 0.05);
  }
}

TEST_CASE("assert_cardinality") {
  CHECK(numbers(Dataset::range(3).assert_cardinality(3)) == Numbers{0, 1, 2});
  CHECK(Dataset::range(9)
            .filter([](const Tensor& x) { return ops::less(x, 2); })
            .assert_cardinality(2)
            .cardinality() == 2);
  CHECK(message_of<FailedPrecondition>([] { numbers(rows_to(3).assert_cardinality(4)); }) ==
        "assert_cardinality: expected 4 elements, but there are 3.");
  CHECK(message_of<FailedPrecondition>([] { numbers(rows_to(3).assert_cardinality(2)); }) ==
        "assert_cardinality: expected 2 elements, but there are at least 3.");
  for (const int64_t count : {2, 4}) {  // the wrong count is reported once
    CHECK(numbers(Dataset::range(3).assert_cardinality(count).ignore_errors()) ==
          numbers(Dataset::range(std::min<int64_t>(count, 3))));
  }
}

TEST_CASE("ignore_errors leaves out what fails") {
  const auto failing = Dataset::from_generator(
      [] {
        return [i = int64_t{0}]() mutable -> std::optional<Element> {
          if (i == 10) return std::nullopt;
          const int64_t number = i++;
          check<DataLoss>(number % 3 != 2, "element {} is broken", number);
          return Tensor::scalar(number);
        };
      },
      {.output_signature = of_numbers()});
  for (const auto& dataset :
       {failing, failing.prefetch(2),
        failing.map([](const Tensor& x) { return x + int64_t{0}; }, {.num_parallel_calls = 3})}) {
    CHECK(numbers(dataset.ignore_errors()) == Numbers{0, 1, 3, 4, 6, 7, 9});
    CHECK(numbers(dataset.shuffle(20, {.seed = 1}).ignore_errors()).size() == 7);
  }
  // Only windows without failing elements, as in tf.data; and the same from a cache in each pass.
  const auto pairs = failing.window(2).flat_map([](const Dataset& w) { return w.batch(2); });
  CHECK(lists(pairs.ignore_errors()) == Lists{{0, 1}, {6, 7}});
  const auto cached = failing.cache().enumerate().ignore_errors();
  for (int pass = 0; pass < 2; ++pass) {
    CHECK(lists(cached) == Lists{{0, 0}, {1, 1}, {3, 3}, {4, 4}, {6, 6}, {7, 7}, {9, 9}});
  }
  auto iterator = failing.prefetch(2).iterator();
  CHECK(numbers(iterator, 2) == Numbers{0, 1});
  Element element;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the iterator stays at the failed element
    CHECK(message_of<DataLoss>([&] { iterator.next(element); }) == "element 2 is broken");
  }
}

TEST_CASE("take counts what it gives, and skip of all gives nothing") {
  const auto failing = [](std::vector<int64_t> bad) {
    return Dataset::range(10).map(
        [bad](const Tensor& x) {
          for (const int64_t number : bad) check<DataLoss>(value(x) != number, "bad");
          return x;
        },
        {.output_signature = of_numbers(), .traced = false});
  };
  const Dataset some = failing({1, 4}).take(4).ignore_errors();
  CHECK(numbers(some) == Numbers{0, 2, 3, 5});
  for (int64_t taken = 0; taken <= 4; ++taken) {
    auto iterator = some.iterator();
    numbers(iterator, taken);
    auto restored = some.iterator();
    restored.restore(Json::parse(iterator.save().dump()));
    CHECK(numbers(restored) == numbers(iterator));
  }
  CHECK(numbers(failing({0}).skip(2).take(3)) == Numbers{2, 3, 4});
  const Dataset none = rows_to(3).repeat().skip(-1);
  CHECK(none.cardinality() == 0);
  CHECK(numbers(none, 1).empty());
  auto iterator = none.iterator();
  Element element;
  CHECK(!iterator.next(element));
  auto restored = none.iterator();
  restored.restore(iterator.save());
  CHECK(!restored.next(element));
}

TEST_CASE("a position behind the last window, however far the next one would be") {
  const Dataset windows = Dataset::range(5)
                              .filter([](const Tensor& x) { return ops::less(x, 9); })
                              .window(2, {.shift = int64_t{1} << 60})
                              .flat_map([](const Dataset& window) { return window; });
  auto iterator = windows.iterator();
  CHECK(numbers(iterator) == Numbers{0, 1});
  auto restored = windows.iterator();
  restored.restore(Json::parse(iterator.save().dump()));
  CHECK(numbers(restored).empty());
}
