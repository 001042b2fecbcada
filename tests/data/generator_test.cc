// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <optional>

#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using Numbers = std::vector<int64_t>;
using MaybeElement = std::optional<data::Element>;

namespace {

// 0, …, count - 1; counts how many passes have begun.
data::Generator counting(int64_t count, int* passes = nullptr) {
  return [=] {
    if (passes) ++*passes;
    return [count, next = int64_t{0}]() mutable -> MaybeElement {
      if (next == count) return std::nullopt;
      return Tensor::scalar(next++);
    };
  };
}

data::GeneratorOptions of_numbers() {
  return {.output_signature = data::ElementSpec{.types = {{DType::Int64, {}}}, .structure = {}}};
}

}  // namespace

TEST_CASE("a generator's elements, pass after pass") {
  int passes = 0;
  const auto dataset = Dataset::from_generator(counting(4, &passes));
  CHECK(passes == 1);  // to find out the types
  CHECK(dataset.element_spec().to_string() == "int64 ()");
  CHECK(!dataset.cardinality());
  CHECK(numbers(dataset) == Numbers{0, 1, 2, 3});
  CHECK(numbers(dataset.repeat(2).batch(3)) == Numbers{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(passes == 4);
  const auto told = Dataset::from_generator(counting(2, &passes), of_numbers());
  CHECK(passes == 4);
  CHECK(numbers(told.prefetch(3)) == Numbers{0, 1});
}

TEST_CASE("a function that gives the elements itself begins anew with each pass") {
  const auto dataset = Dataset::from_generator([i = int64_t{0}]() mutable -> MaybeElement {
    if (i == 3) return std::nullopt;
    return MaybeElement(Tensor::scalar(i++));
  });
  CHECK(numbers(dataset) == Numbers{0, 1, 2});
  CHECK(numbers(dataset.repeat(2)) == Numbers{0, 1, 2, 0, 1, 2});
}

TEST_CASE("pairs, named components and axes that vary") {
  const auto pairs = Dataset::from_generator([] {
    return [i = 0]() mutable -> MaybeElement {
      if (i == 3) return std::nullopt;
      ++i;
      return data::Element{ops::full({2}, static_cast<float>(i)), Tensor::scalar(i)};
    };
  });
  CHECK(pairs.element_spec().to_string() == "(float32 (2,), int32 ())");
  for (const auto& [x, y] : pairs.batch(2).take(1)) {
    CHECK(x.shape() == Shape{2, 2});
    CHECK(y.to_vector<int32_t>() == std::vector<int32_t>{1, 2});
  }
  auto growing = [] {
    return [i = int64_t{0}]() mutable -> MaybeElement {
      return i == 3 ? MaybeElement() : MaybeElement(ops::arange(++i));
    };
  };
  const data::ElementSpec varies = {.types = {{DType::Int32, {kUnknown}}}, .structure = {}};
  const auto ragged = Dataset::from_generator(growing, {.output_signature = varies});
  CHECK(ragged.element_spec().to_string() == "int32 (None,)");
  CHECK(numbers(ragged) == Numbers{0, 0, 1, 0, 1, 2});
  CHECK(message_of<InvalidArgument>([&] { numbers(Dataset::from_generator(growing)); }) ==
        "from_generator: expected elements of the kind int32 (1,), got int32 (2,) as element 1. "
        "Where axes vary, give output_signature, with kUnknown for them.");
}

TEST_CASE("nothing, none, and what a generator throws") {
  CHECK(numbers(Dataset::from_generator(counting(0), of_numbers())) == Numbers{});
  CHECK(message_of<InvalidArgument>([] { Dataset::from_generator(counting(0)); }) ==
        "from_generator: expected a first element, from which the types of all are inferred, got "
        "none. Pass output_signature if there may be none.");
  CHECK(message_of<InvalidArgument>([] { Dataset::from_generator(data::Generator()); }) ==
        "from_generator: expected a generator, got none.");
  const auto failing = Dataset::from_generator([] {
    return [i = int64_t{0}]() mutable -> MaybeElement {
      if (++i == 3) raise<DataLoss>("the third is broken");
      return Tensor::scalar(i);
    };
  });
  for (const Dataset& dataset : {failing, failing.prefetch(2)}) {
    auto iterator = dataset.iterator();
    CHECK(numbers(iterator, 2) == Numbers{1, 2});
    data::Element element;
    CHECK(message_of<DataLoss>([&] { iterator.next(element); }) == "the third is broken");
  }
}
