// SPDX-License-Identifier: Apache-2.0
// The order that NumPy's RandomState shuffles rows into. Internal to the data sets.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace cornu::datasets {

// numpy.random.RandomState(seed), whose numbers NumPy has frozen (NEP 19): MT19937.
class NumpyShuffle {
 public:
  // InvalidArgument when the seed isn't in [0, 2^32).
  explicit NumpyShuffle(int64_t seed);

  // 0 to count - 1 as shuffle() leaves numpy.arange(count); the next call goes on from there.
  std::vector<int64_t> rows(int64_t count);

 private:
  uint64_t at_most(uint64_t limit);

  std::mt19937 random_;
};

}  // namespace cornu::datasets
