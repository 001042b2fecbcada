// SPDX-License-Identifier: Apache-2.0
// The real MNIST, on machines that have it.
#include <doctest/doctest.h>

#include <numeric>

#include "data/datasets/mnist.h"
#include "tests/support/skip.h"

using namespace cornu;

TEST_CASE("the real MNIST") {
  try {
    datasets::mnist::load_data({.download = false});
  } catch (const NotFound&) {
    test::skip_test("there is no MNIST in $CORNU_DATASETS/mnist nor in the cache");
  }
  auto [train, test] = datasets::mnist::load_data({.download = false});
  CHECK(train.x.shape() == Shape{60'000, 28, 28});
  CHECK(train.x.dtype() == DType::UInt8);
  CHECK(test.x.shape() == Shape{10'000, 28, 28});
  CHECK(test.y.shape() == Shape{10'000});
  const auto first = train.y.data<uint8_t>().first(10);
  CHECK(std::vector<int>(first.begin(), first.end()) ==
        std::vector<int>{5, 0, 4, 1, 9, 2, 1, 3, 1, 4});
  const auto pixels = train.x.data<uint8_t>();
  CHECK(std::accumulate(pixels.begin(), pixels.end(), int64_t{0}) / 60'000 == 26'121);
}
