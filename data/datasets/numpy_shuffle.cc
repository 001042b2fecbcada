// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/numpy_shuffle.h"

#include <bit>
#include <numeric>
#include <utility>

#include "framework/core/error.h"

namespace cornu::datasets {
namespace {

uint32_t checked_seed(int64_t seed) {
  check<InvalidArgument>(seed >= 0 && seed <= UINT32_MAX, "seed: expected 0 to 2^32 - 1, got {}.",
                         seed);
  return static_cast<uint32_t>(seed);
}

}  // namespace

NumpyShuffle::NumpyShuffle(int64_t seed) : random_(checked_seed(seed)) {}

// Draws until what is within the next power of two is within the limit, as NumPy does.
uint64_t NumpyShuffle::at_most(uint64_t limit) {
  const uint64_t mask = std::bit_ceil(limit + 1) - 1;
  for (;;) {
    uint64_t value = random_();
    if (limit > UINT32_MAX) value = value << 32 | random_();
    if ((value & mask) <= limit) return value & mask;
  }
}

std::vector<int64_t> NumpyShuffle::rows(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[at_most(i)]);
  return order;
}

}  // namespace cornu::datasets
