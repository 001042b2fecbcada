// SPDX-License-Identifier: Apache-2.0
// Map functions that can't be traced: functions of strings, and functions that read values.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "data/string_functions.h"
#include "data/text_files.h"
#include "data/transforms/transforms.h"
#include "framework/core/random.h"
#include "framework/core/variable.h"
#include "framework/ops/math.h"
#include "framework/ops/random.h"
#include "framework/ops/shape.h"
#include "tests/data/support.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using Numbers = std::vector<int64_t>;
using Strings = std::vector<std::string>;

namespace {

Dataset words() {
  return Dataset::from_tensor_slices(
      Tensor::from({"one", "three", "", "a long string of its own"}));
}

Strings strings(const Dataset& dataset) {
  Strings all;
  for (const auto& element : dataset) {
    const auto values = element.tensor(0).to_vector<std::string>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Tensor length(const Tensor& text) {
  return Tensor::scalar(static_cast<int64_t>(text.item<std::string>().size()));
}

// A vector of as many ones as the value of `x`.
Tensor tally(const Tensor& x) { return ops::ones({x.item<int64_t>()}, DType::Int64); }

Tensor first_of(const Tensor& x) { return Tensor::scalar(x.to_vector<int64_t>().front()); }

}  // namespace

TEST_CASE("strings pass through sources and transforms") {
  CHECK(words().element_spec().to_string() == "string ()");
  CHECK(strings(words()) == Strings{"one", "three", "", "a long string of its own"});
  CHECK(strings(words().batch(3)) == strings(words()));
  CHECK(words().batch(3, {.drop_remainder = true}).element_spec().to_string() == "string (3,)");
  const Strings shuffled = strings(words().shuffle(4, {.seed = 1}));
  CHECK(strings(words().shuffle(4, {.seed = 1}).batch(2)) == shuffled);
  CHECK(strings(words().cache().repeat(2).skip(1).take(4).prefetch(2)) ==
        Strings{"three", "", "a long string of its own", "one"});
  CHECK(strings(Dataset::from_tensors(Tensor::scalar("x")).concatenate(words()).shard(2, 0)) ==
        Strings{"x", "three", "a long string of its own"});
  auto numbered = words().enumerate();
  CHECK(numbered.element_spec().to_string() == "(int64 (), string ())");
  int calls = 0;
  auto made = Dataset::from_generator([calls]() mutable -> std::optional<data::Element> {
    return calls++ < 2 ? std::optional<data::Element>(Tensor::scalar("g")) : std::nullopt;
  });
  CHECK(strings(made.batch(2)) == Strings{"g", "g"});
}

TEST_CASE("functions of strings run on the host") {
  CHECK(words().map(&length).element_spec().to_string() == "int64 ()");
  CHECK(numbers(words().map(&length)) == Numbers{3, 5, 0, 24});
  CHECK(numbers(words().map(&length).map([](const Tensor& x) { return x * 2; }).batch(4)) ==
        Numbers{6, 10, 0, 48});
  auto twice = words().map([](const Tensor& text) {
    return Tensor::scalar(text.item<std::string>() + text.item<std::string>());
  });
  CHECK(strings(twice.batch(2)) ==
        Strings{"oneone", "threethree", "", "a long string of its owna long string of its own"});
  for (const int64_t calls : {1, 4}) {
    auto mapped = words().repeat(20).map(&length, {.num_parallel_calls = calls});
    CHECK(numbers(mapped) == numbers(words().map(&length).repeat(20)));
  }
  auto filtered = words().filter(
      [](const Tensor& text) { return Tensor(text.item<std::string>().size() > 4); });
  CHECK(strings(filtered) == Strings{"three", "a long string of its own"});
}

TEST_CASE("functions that ask for values run on the host; axes may vary") {
  auto tallies = Dataset::range(1, 4).map(&tally);
  CHECK(tallies.element_spec().to_string() == "int64 (None,)");
  Numbers sizes;
  for (const auto& element : tallies) sizes.push_back(element.tensor(0).dim(0));
  CHECK(sizes == Numbers{1, 2, 3});

  data::ElementSpec two;
  two.types = {{DType::Int64, {2}}};
  auto fixed = Dataset::range(2, 4).map(&tally, {.output_signature = two});
  CHECK(fixed.element_spec().to_string() == "int64 (2,)");
  auto iterator = fixed.iterator();
  data::Element element;
  CHECK(iterator.next(element));
  CHECK(contains(message_of<InvalidArgument>([&] { iterator.next(element); }),
                 "map, element 1: expected the function to give int64 (2,), as it did first, or as "
                 "its output_signature says, got int64 (3,)."));
  // Traceable functions have to match it, too.
  CHECK(contains(message_of<InvalidArgument>([&] {
                   Dataset::range(3).map([](const Tensor& x) { return x; },
                                         {.output_signature = two});
                 }),
                 "map: the function gives int64 (), which its output_signature int64 (2,) doesn't "
                 "allow."));
  CHECK(contains(message_of<InvalidArgument>([] { Dataset::range(0).map(&tally); }),
                 "map: expected a first element, from which the function's result types are "
                 "inferred, got none."));
}

TEST_CASE("a function that fails on the first element, and one that fails later") {
  const auto failing_on = [](int64_t which) {
    return [which](const Tensor& x) {
      if (x.item<int64_t>() == which) throw std::runtime_error("boom");
      return x * 2;
    };
  };
  CHECK(message_of<InvalidArgument>([&] { Dataset::range(4).map(failing_on(0)); }) ==
        "map, element 0 (where the first one may fail give output_signature): boom");
  data::ElementSpec number = Dataset::range(1).element_spec();
  const auto known = Dataset::range(4).map(failing_on(0), {.output_signature = number});
  CHECK(numbers(known.ignore_errors()) == Numbers{2, 4, 6});
  const auto later = Dataset::range(4).map(failing_on(1)).ignore_errors();
  {
    const test::Log log;
    CHECK(numbers(later, 2) == Numbers{0, 4});  // a pass that isn't finished
    CHECK(contains(log.text(), "ignore_errors: 1 elements of this pass were left out."));
  }
  const test::Log log;
  CHECK(numbers(later) == Numbers{0, 4, 6});
  CHECK(contains(log.text(), "The first error: map, element 1: boom"));
}

TEST_CASE("the first element is taken from before a shuffle or a filter") {
  auto calls = std::make_shared<std::atomic<int>>(0);
  auto counted = Dataset::range(100).map(
      [calls](const Tensor& x) {
        ++*calls;
        return x;
      },
      {.traced = false});
  CHECK(*calls == 1);
  auto lengths = counted.shuffle(100, {.seed = 1}).prefetch(4).map(&tally);
  CHECK(*calls == 2);
}

TEST_CASE("what is left out isn't what a function is learned from") {
  const TempFolder folder;
  write_text(folder / "h.csv", "x\n1\n2\n3\n");
  const Dataset lines = data::TextLineDataset(folder / "h.csv");
  const auto number = data::strings::functions::to_number("int64");
  CHECK(numbers(lines.skip(1).map(number)) == Numbers{1, 2, 3});
  CHECK(numbers(lines.skip(1).shuffle(1).cache().prefetch(2).map(number)) == Numbers{1, 2, 3});
  CHECK(numbers(lines.shard(2, 1).map(number)) == Numbers{1, 3});
  const auto not_zero = [](const Tensor& x) {
    check<InvalidArgument>(x.item<int64_t>() != 0, "zero");
    return x;
  };
  CHECK(numbers(Dataset::range(3).skip(1).map(not_zero)) == Numbers{1, 2});
  CHECK(numbers(rows_to(4).shard(2, 1).map(not_zero)) == Numbers{1, 3});
  // When no elements are left, the function is tried on one of those that were skipped.
  CHECK(numbers(Dataset::range(1, 3).skip(5).map(not_zero)).empty());
  CHECK(numbers(Dataset::range(1, 3).skip(-1).map(not_zero)).empty());
  CHECK(numbers(Dataset::range(1, 2).shard(3, 2).map(not_zero)).empty());
}

TEST_CASE("one element is made to learn what functions give, whatever is below them") {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto all = Dataset::range(100).map(
      [calls](const Tensor& x) {
        ++*calls;
        return x;
      },
      {.num_parallel_calls = 3,
       .output_signature = data::spec_of(Tensor::scalar(int64_t{0})),
       .traced = false});
  const auto shuffled = all.shuffle(50, {.seed = 1});
  const auto made = [calls](const std::function<Dataset()>& make) {
    *calls = 0;
    make();
    return calls->load();
  };
  const auto twice = [](const Tensor& x) { return Dataset::from_tensors(x).repeat(2); };
  const auto in_twos = [](const Dataset& window) { return window.batch(2); };
  CHECK(made([&] { return shuffled.flat_map(twice); }) == 1);
  CHECK(made([&] { return shuffled.interleave(twice, {.num_parallel_calls = 2}); }) == 1);
  CHECK(made([&] { return shuffled.window(3).flat_map(in_twos); }) == 3);
  CHECK(made([&] {
          return shuffled.group_by_window(
              [](const Tensor& x) { return ops::mod(x, 3); },
              [&](int64_t, const Dataset& group) { return in_twos(group); }, 20);
        }) == 1);
  CHECK(made([&] { return shuffled.batch(4).unbatch().prefetch(5).map(&first_of); }) == 4);
  CHECK(made([&] {
          return Dataset::zip({shuffled, shuffled}).map([](const Tensor& x, Tensor) {
            return first_of(x);
          });
        }) == 2);
  // The elements used to learn the signature aren't what is cached.
  const TempFolder folder;
  for (const std::string& file : Strings{"", (folder / "kept").string()}) {
    const auto kept = shuffled.take(3).cache(file);
    CHECK(made([&] { return kept.batch(3).map(&first_of); }) == 3);
    CHECK(numbers(kept) == numbers(shuffled.take(3).cache()));
  }
}

TEST_CASE("a group whose elements fail is no reason not to make the dataset") {
  const auto odd = [](const Tensor& x) {
    check<DataLoss>(x.item<int64_t>() % 4 != 2, "it is broken");
    return x;
  };
  const auto groups = Dataset::range(9).map(odd).group_by_window(
      [](const Tensor& x) { return ops::mod(x, 2); },
      [](int64_t, const Dataset& group) { return group.batch(2); }, 2);
  CHECK(numbers(groups.ignore_errors()) == Numbers{1, 3, 0, 4, 5, 7, 8});
  CHECK_THROWS_AS(numbers(groups), DataLoss);
}

TEST_CASE("functions on the host draw by seed, pass and element") {
  const auto draw = [](const Tensor& x) {
    return Tensor::from({x.item<float>() * 0 + random::uniform({}).item<float>()});
  };
  const auto drawn = [&](int64_t calls) {
    set_random_seed(5);
    auto dataset = Dataset::range(6).map(draw, {.num_parallel_calls = calls}).repeat(2);
    std::vector<float> all;
    for (const auto& element : dataset) all.push_back(element.tensor(0).data<float>()[0]);
    return all;
  };
  const std::vector<float> once = drawn(1);
  CHECK(once == drawn(4));
  CHECK(once[0] != once[1]);
  CHECK(once[0] != once[6]);
  // This thread's own seed sequence continues as if nothing had been drawn.
  set_random_seed(5);
  const auto before = seed_sequence().drawn;
  auto dataset = Dataset::range(6).map(draw);
  numbers(dataset.map([](const Tensor& x) { return ops::cast(x, DType::Int64); }));
  CHECK(seed_sequence().drawn <= before + 2);  // one seed per map
}

TEST_CASE("that a function runs on the host is told once") {
  const auto host = [](const Tensor& x) { return x + x.item<int64_t>(); };
  const auto range = Dataset::range(3).node();
  const test::Log log;
  data::make_map(range, data::map_function(host), {}, "a map of this test");
  const std::string told = log.text();
  CHECK(contains(told,
                 "a map of this test: the function asks for the values of tensors, so it can't "
                 "be traced: it runs op by op for each element, and a dataset with it can't be "
                 "serialized."));
  data::make_map(range, data::map_function(host), {}, "a map of this test");
  CHECK(log.text() == told);
}

TEST_CASE("functions on the host may not change variables") {
  const Variable counter(Tensor::scalar(int64_t{0}), {.name = "counter"});
  CHECK(contains(message_of<InvalidArgument>([&] {
                   Dataset::range(3).map([&](const Tensor& x) {
                     counter.assign(counter.value() + x.item<int64_t>());
                     return x;
                   });
                 }),
                 ": the function changes the variable 'counter'"));
  CHECK(counter.value().item<int>() == 0);
}
