// SPDX-License-Identifier: Apache-2.0
// The random numbers that Python programs shuffle with.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace cornu::data {

// numpy.random.RandomState: the same seed gives the numbers that NumPy gives, for orders and splits
// that have to be Keras's. Used by one thread at a time.
class NumpyRandomState {
 public:
  // InvalidArgument unless 0 <= seed < 2^32.
  explicit NumpyRandomState(int64_t seed);

  // In [0, most].
  uint64_t random_interval(uint64_t most);

  // 0 to count - 1 as shuffle() leaves them.
  std::vector<int64_t> permutation(int64_t count);

  template <class T>
  void shuffle(std::span<T> items) {
    for (size_t i = items.size(); i-- > 1;) {
      std::swap(items[i], items[static_cast<size_t>(random_interval(i))]);
    }
  }

 private:
  std::mt19937 engine_;
};

}  // namespace cornu::data
