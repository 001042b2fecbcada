// SPDX-License-Identifier: Apache-2.0
// Maps that are applied to whole batches, or after a shuffle, when the result is the same.
#include <doctest/doctest.h>

#include <cstring>

#include "framework/core/random.h"
#include "framework/core/rows.h"
#include "framework/core/variable.h"
#include "framework/ops/math.h"
#include "framework/ops/random.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using data::Element;

namespace {

constexpr int64_t kRows = 23;

// Numbers of all sizes, in rows of `shape`.
Tensor values(const Shape& shape, uint64_t seed) {
  Tensor table = Tensor::empty(Shape{kRows}.concat(shape), DType::Float32);
  PhiloxEngine engine(seed);
  for (float& value : table.mutable_data<float>()) value = (engine.uniform() - 0.5f) * 20;
  return table;
}

bool same_bits(const Element& a, const Element& b) {
  if (a.tensors().size() != b.tensors().size()) return false;
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    const Tensor& x = a.tensors()[i];
    const Tensor& y = b.tensors()[i];
    if (x.shape() != y.shape() || x.dtype() != y.dtype()) return false;
    if (std::memcmp(x.raw(), y.raw(), x.bytes()) != 0) return false;
  }
  return true;
}

// Batches of the map's results, computed element by element.
std::vector<Element> stacked(const Dataset& elements, int64_t batch_size) {
  std::vector<Element> batches;
  std::vector<Element> items;
  const auto flush = [&] {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < items.front().tensors().size(); ++i) {
      std::vector<Tensor> parts;
      for (const Element& item : items) parts.push_back(item.tensors()[i]);
      tensors.push_back(stack_rows(parts));
    }
    batches.push_back(items.front().with(std::move(tensors)));
    items.clear();
  };
  for (const Element& element : elements) {
    items.push_back(element);
    if (std::ssize(items) == batch_size) flush();
  }
  if (!items.empty()) flush();
  return batches;
}

std::string pipeline_of(const Dataset& dataset) {
  return dataset.iterator().save().at("pipeline").as_string();
}

void check_batches(const Dataset& mapped, bool after_batch) {
  for (const int64_t batch_size : {1, 2, 5, 8, 23, 40}) {
    CAPTURE(batch_size);
    const Dataset batched = mapped.batch(batch_size);
    const std::string pipeline = pipeline_of(batched);
    CAPTURE(pipeline);
    CHECK((pipeline.find("map") > pipeline.find("batch")) == after_batch);
    const std::vector<Element> expected = stacked(mapped, batch_size);
    size_t next = 0;
    for (const Element& batch : batched) {
      REQUIRE(next < expected.size());
      CHECK(same_bits(batch, expected[next++]));
      CHECK(batched.element_spec().admits(batch));
    }
    CHECK(next == expected.size());
    CHECK(batched.cardinality() == std::ssize(expected));
  }
}

Dataset pairs() { return Dataset::from_tensor_slices({values({7, 3}, 1), values({3}, 2)}); }

}  // namespace

TEST_CASE("elementwise maps are applied to whole batches") {
  check_batches(
      pairs().map([](const Tensor& x, const Tensor& y) { return std::pair(x / 255.0f, y); }), true);
  check_batches(pairs().map([](const Tensor& x, const Tensor& y) {
    const Tensor offset = Tensor::from({1.0f, 2.0f, 3.0f});
    return std::tuple(ops::exp(ops::tanh(x)) * 2 + offset, ops::cast(y, "int32"),
                      ops::where(x > 0, x, ops::sqrt(ops::abs(x))));
  }),
                true);
  check_batches(pairs().map([](const Tensor&, const Tensor& y) { return ops::log1p(y * y); }),
                true);
  const Tensor bytes = ops::cast(ops::abs(values({5}, 3)) * 12, "uint8");
  auto scaled = Dataset::from_tensor_slices(bytes).map(
      [](const Tensor& x) { return ops::cast(x, "float32") / 255.0f; }, {.num_parallel_calls = 3});
  check_batches(scaled, true);
  check_batches(scaled.map([](const Tensor& x) { return 1.0f - x; }), true);
  check_batches(Dataset::range(kRows).map([](const Tensor& x) { return x * x; }), true);
}

TEST_CASE("maps that mix the numbers of an element are not") {
  check_batches(pairs().map([](const Tensor& x, const Tensor& y) { return x + y; }), false);
  check_batches(pairs().map([](const Tensor& x, const Tensor&) { return ops::sum(x); }), false);
  check_batches(pairs().map([](const Tensor& x, const Tensor&) { return ops::reshape(x, {21}); }),
                false);
  // A number from each element broadcast along a constant's axis, and a component that doesn't
  // depend on the element.
  check_batches(Dataset::range(kRows).map([](const Tensor& x) {
    return x + Tensor::from({int64_t{1}, int64_t{2}});
  }),
                false);
  check_batches(
      Dataset::range(kRows).map([](const Tensor& x) { return std::pair(x * 2, ops::zeros({2})); }),
      false);
  const Variable scale(Tensor::scalar(2.0f));
  check_batches(pairs().map([&](const Tensor& x, const Tensor&) { return x * scale; }), false);
}

TEST_CASE("what draws random numbers stays where it is") {
  set_random_seed(3);
  auto drawn = pairs().map([](const Tensor& x, const Tensor&) {
    return x + random::uniform({7, 3});
  });
  for (const Dataset& after : {drawn.shuffle(5), drawn.batch(5)}) {
    CHECK(pipeline_of(after).starts_with(pipeline_of(drawn) + " | "));
  }
}

TEST_CASE("rows are shuffled by number below a map") {
  const auto sum = [](const Tensor& x, const Tensor& y) { return ops::sum(x) + ops::sum(y); };
  const auto twice = [](const Tensor& x) { return x * 2; };
  const auto make = [&] { return pairs().map(sum).map(twice).shuffle(6, {.seed = 4}); };
  const auto shuffled = make();
  const std::string pipeline = pipeline_of(make());
  CHECK(pipeline.find("map") > pipeline.find("shuffle"));
  auto expected = pairs().shuffle(6, {.seed = 4}).map(sum).map(twice);
  for (int pass = 0; pass < 2; ++pass) {
    auto a = shuffled.iterator();
    auto b = expected.iterator();
    Element x;
    Element y;
    while (a.next(x)) {
      REQUIRE(b.next(y));
      CHECK(same_bits(x, y));
    }
    CHECK_FALSE(b.next(y));
  }
}
