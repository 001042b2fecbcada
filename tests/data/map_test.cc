// SPDX-License-Identifier: Apache-2.0
// Map functions: arguments and results, how often they are traced, and what they mustn't do.
#include <doctest/doctest.h>

#include <memory>
#include <tuple>

#include "framework/core/variable.h"
#include "framework/ops/math.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using Numbers = std::vector<int64_t>;

namespace {

Dataset pairs(int64_t count) {
  return Dataset::zip({Dataset::range(count), Dataset::range(100, 100 + count)});
}

Tensor twice(const Tensor& x) { return x * 2; }

}  // namespace

TEST_CASE("map over elements, and over batches whose size varies") {
  auto scaled = rows_to(5).map([](const Tensor& x) { return ops::cast(x, DType::Float32) / 2.0f; });
  CHECK(scaled.element_spec().to_string() == "float32 ()");
  CHECK(scaled.cardinality() == 5);
  for (const auto& element : scaled.skip(3).take(1)) {
    CHECK(element.tensor(0).item<float>() == 1.5f);
  }
  auto batched = rows_to(5).batch(2).map([](const Tensor& x) { return x + 10; });
  CHECK(batched.element_spec().to_string() == "int64 (None,)");
  CHECK(numbers(batched) == Numbers{10, 11, 12, 13, 14});
  CHECK(numbers(rows_to(5).map(&twice).batch(2)) == Numbers{0, 2, 4, 6, 8});
}

TEST_CASE("what a map function may take and return") {
  CHECK(numbers(pairs(2).map([](const Tensor& x, const Tensor& y) {
          return std::pair(y - x, x);
        })) == Numbers{100, 0, 100, 1});
  // Parameters with default values keep them, those of pairs, too.
  const auto moved = [](const Tensor& x, int64_t by = 5) { return x + by; };
  CHECK(numbers(rows_to(2).map(moved)) == Numbers{5, 6});
  const auto summed = [](const Tensor& x, const Tensor& y, int64_t by = 5) { return x + y + by; };
  CHECK(numbers(pairs(2).map(summed)) == Numbers{105, 107});
  auto by_tuple =
      pairs(1).map([](const auto& x, const auto& y) { return std::tuple(x, y, x + y); });
  CHECK(by_tuple.element_spec().to_string() == "(int64 (), int64 (), int64 ())");
  auto by_vector = pairs(1).map([](Tensor x, Tensor y) { return std::vector<Tensor>{x, y, x}; });
  CHECK(by_vector.element_spec() == by_tuple.element_spec());

  auto named = pairs(2).map([](const Tensor& x, const Tensor& y) {
    return std::pair(Tensors({{"a", x}, {"b", y}}), x + y);
  });
  CHECK(named.element_spec().to_string() == "({a: int64 (), b: int64 ()}, int64 ())");
  auto from_named =
      named.map([](const Tensors& features, const Tensor& sum) { return sum - features.at("b"); });
  CHECK(numbers(from_named) == Numbers{0, 1});
  auto whole = named.map([](const data::Element& element) {
    return data::Element{element[1].single(), element[0]};
  });
  CHECK(whole.element_spec().to_string() == "(int64 (), {a: int64 (), b: int64 ()})");
  CHECK(numbers(whole.map([](const data::Element& element) { return element[0]; })) ==
        Numbers{100, 102});
}

TEST_CASE("a map function is traced once a signature, when the dataset is made") {
  auto calls = std::make_shared<int>(0);
  auto counted = Dataset::range(50).map([calls](const Tensor& x) {
    ++*calls;
    return x + 1;
  });
  CHECK(*calls == 1);
  CHECK(numbers(counted.batch(50)).back() == 50);
  CHECK(numbers(counted.repeat(2)).size() == 100);
  CHECK(*calls == 1);
}

TEST_CASE("num_parallel_calls doesn't change what comes") {
  for (const int64_t calls : {int64_t{1}, int64_t{4}, data::kAutotune}) {
    auto mapped = rows_to(20).shuffle(20, {.seed = 3}).map(&twice, {.num_parallel_calls = calls});
    Numbers expected = numbers(rows_to(20).shuffle(20, {.seed = 3}));
    for (int64_t& value : expected) value *= 2;
    CHECK(numbers(mapped.prefetch(2)) == expected);
  }
  CHECK(contains(
      message_of<InvalidArgument>([] { rows_to(2).map(&twice, {.num_parallel_calls = 0}); }),
      "map: expected num_parallel_calls of at least 1, or data::kAutotune, got 0."));
}

TEST_CASE("a position in a mapped dataset") {
  auto make = [] {
    return rows_to(20).shuffle(20, {.seed = 3}).map(&twice).batch(3).map(&twice).prefetch(2);
  };
  auto iterator = make().iterator();
  numbers(iterator, 3);
  auto restored = make().iterator();
  restored.restore(iterator.save());
  CHECK(numbers(restored) == numbers(iterator));
}

TEST_CASE("mistakes in a map function show when the dataset is made") {
  CHECK(message_of<InvalidArgument>([] { pairs(2).map(&twice); }) ==
        "map: the function takes 1 argument, but the elements have 2 components: (int64 (), int64 "
        "()).");
  const auto together = [](const Tensor& x, const Tensor& y) { return Tensors({x, y}); };
  const auto sum = [](const Tensor& x, const Tensor& y) { return x + y; };
  CHECK(message_of<InvalidArgument>([&] { pairs(2).map(together).map(sum); }) ==
        "map: the function takes 2 arguments, but the elements have 1 component: ((int64 (), int64 "
        "()),). Take it as one const Tensors&; or, where a function gave these tensors as one "
        "Tensors, have it return their list() in place of that.");
  pairs(2).map([&](const Tensor& x, const Tensor& y) { return together(x, y).list(); }).map(sum);
  CHECK(contains(
      message_of<InvalidArgument>([] {
        Dataset::from_tensor_slices(Tensor::empty({2, 3}, DType::Float32)).map([](const Tensor& x) {
          return x + Tensor::from(std::vector<float>{1, 2});
        });
      }),
      "(3,)"));
  const Variable counter(Tensor::scalar(int64_t{0}), {.name = "counter"});
  for (const int64_t batch : {1, 2}) {  // a static signature, and one with an unknown axis
    auto source = batch == 1 ? rows_to(2) : rows_to(2).batch(2);
    CHECK(contains(message_of<InvalidArgument>([&] {
                     source.map([&](const Tensor& x) {
                       counter.assign(counter.value() + 1);
                       return x;
                     });
                   }),
                   "map: the function changes the variable 'counter'"));
  }
}
