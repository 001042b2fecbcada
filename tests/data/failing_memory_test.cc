// SPDX-License-Identifier: Apache-2.0
// Pipelines where memory runs out.
#include <doctest/doctest.h>

#include <optional>

#include "tests/data/support.h"
#include "tests/support/limited_memory.h"

using namespace cornu;
using data::Dataset;
using data::Element;
using test::LimitedMemory;

namespace {

constexpr int64_t kCount = 8;
constexpr int64_t kLast = 4;  // its thread has only a little memory left afterwards

// The numbers below kCount.
Dataset prefetched(int pieces) {
  return Dataset::from_generator(
             [pieces] {
               return [pieces, next = int64_t{0}]() mutable -> std::optional<Element> {
                 static thread_local std::optional<LimitedMemory> limit;
                 if (next == kCount) return std::nullopt;
                 Element element = Tensor::scalar(next);
                 if (next++ == kLast && pieces != test::kUnlimited) limit.emplace(pieces);
                 return element;
               };
             },
             {.output_signature =
                  data::ElementSpec{.types = {{DType::Int64, {}}}, .structure = {}}})
      .batch(1)
      .prefetch(1);
}

// Returns how many elements there were before an error, none if there was no error.
std::optional<int64_t> elements_before_error(data::Iterator& iterator) {
  int64_t count = 0;
  try {
    Element element;
    while (iterator.next(element)) {
      CHECK(element.tensor(0).to_vector<int64_t>() == std::vector<int64_t>{count});
      ++count;
    }
  } catch (const std::exception&) {
    return count;
  }
  CHECK(count == kCount);
  return {};
}

}  // namespace

TEST_CASE("a prefetching thread without memory is an error where its elements are taken") {
  int failed = 0;
  for (int pieces = 0; pieces < 60; ++pieces) {
    CAPTURE(pieces);
    data::Iterator iterator = prefetched(pieces).iterator();
    const std::optional<int64_t> count = elements_before_error(iterator);
    if (!count) break;
    ++failed;
    CHECK(*count >= kLast);
    data::Iterator resumed = prefetched(test::kUnlimited).iterator();
    resumed.restore(iterator.save());
    Element element;
    REQUIRE(resumed.next(element));
    CHECK(element.tensor(0).to_vector<int64_t>() == std::vector<int64_t>{*count});
  }
  CHECK(failed > 0);
}

TEST_CASE("a chain of transforms can be destroyed where there is no memory") {
  std::optional<Dataset> dataset = Dataset::range(10);
  for (int link = 0; link < 100; ++link) dataset = dataset->concatenate(Dataset::range(10));
  const LimitedMemory limit(0);
  dataset.reset();
}
