// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/synthetic_digits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tests/data/support.h"
#include "tests/support/sanitized.h"

using namespace cornu;
using namespace cornu::testing;

namespace {

constexpr size_t kPixels = 28 * 28;

int64_t squared_distance(const uint8_t* a, const uint8_t* b) {
  int64_t sum = 0;
  for (size_t i = 0; i < kPixels; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

TEST_CASE("synthetic digits have MNIST's shapes and types") {
  auto [train, test] = datasets::synthetic_digits({.train = 300, .test = 20});
  CHECK(train.x.shape() == Shape{300, 28, 28});
  CHECK(train.x.dtype() == DType::UInt8);
  CHECK(test.y.shape() == Shape{20});
  CHECK(test.y.dtype() == DType::UInt8);
  std::array<int, 10> counts{};
  for (uint8_t label : train.y.data<uint8_t>()) ++counts.at(label);
  CHECK(*std::min_element(counts.begin(), counts.end()) > 10);
  for (int64_t i = 0; i < 300; ++i) {  // ink on paper, within the image
    const auto image = train.x.data<uint8_t>().subspan(static_cast<size_t>(i) * kPixels, kPixels);
    const auto ink = std::count_if(image.begin(), image.end(), [](uint8_t p) { return p > 128; });
    CHECK(ink > 15);
    CHECK(ink < 300);
    CHECK(*std::max_element(image.begin(), image.end()) > 200);
  }
  CHECK_THROWS_AS(datasets::synthetic_digits({.train = -1}), InvalidArgument);
  CHECK(datasets::synthetic_digits({.train = 0, .test = 0}).train.x.shape() == Shape{0, 28, 28});
}

TEST_CASE("synthetic digits depend on the seed and the example's number alone") {
  const auto many = datasets::synthetic_digits({.train = 200, .test = 50});
  const auto few = datasets::synthetic_digits({.train = 70, .test = 10});
  CHECK(numbers(few.train.x) == numbers(many.train.x.rows(0, 70)));
  CHECK(numbers(few.test.y) == numbers(many.test.y.rows(0, 10)));
  CHECK(numbers(many.test.x.rows(0, 50)) != numbers(many.train.x.rows(0, 50)));
  const auto other = datasets::synthetic_digits({.train = 70, .test = 10, .seed = 1});
  CHECK(numbers(other.train.x) != numbers(few.train.x));
}

TEST_CASE("synthetic digits can be told apart") {
  constexpr int64_t kTested = cases(200, 20);
  auto [train, test] = datasets::synthetic_digits({.train = 2000, .test = kTested});
  const uint8_t* known = train.x.data<uint8_t>().data();
  int right = 0;
  for (size_t i = 0; i < kTested; ++i) {  // by the nearest known image
    const uint8_t* image = test.x.data<uint8_t>().data() + i * kPixels;
    int64_t best = std::numeric_limits<int64_t>::max();
    size_t nearest = 0;
    for (size_t k = 0; k < 2000; ++k) {
      const int64_t distance = squared_distance(image, known + k * kPixels);
      if (distance < best) best = distance, nearest = k;
    }
    right += train.y.data<uint8_t>()[nearest] == test.y.data<uint8_t>()[i];
  }
  CHECK(10 * right > 9 * kTested);
}
