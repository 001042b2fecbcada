// SPDX-License-Identifier: Apache-2.0
#include "data/numpy_random.h"

#include <bit>
#include <numeric>

#include "framework/core/error.h"

namespace cornu::data {

NumpyRandomState::NumpyRandomState(int64_t seed) : engine_(static_cast<uint32_t>(seed)) {
  check<InvalidArgument>(seed >= 0 && seed <= UINT32_MAX,
                         "NumpyRandomState: expected a seed of 0 to 2^32 - 1, got {}.", seed);
}

uint64_t NumpyRandomState::random_interval(uint64_t most) {
  if (most == 0) return 0;
  // Rejection sampling: numbers that are too large are discarded.
  const uint64_t mask = UINT64_MAX >> std::countl_zero(most);
  for (;;) {
    uint64_t value = engine_();
    if (most > UINT32_MAX) value = value << 32 | engine_();
    value &= mask;
    if (value <= most) return value;
  }
}

std::vector<int64_t> NumpyRandomState::permutation(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order));
  return order;
}

}  // namespace cornu::data
