// SPDX-License-Identifier: Apache-2.0
// NumPy's legacy random number generator.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace cornu::data {

// numpy.random.RandomState: generates the same numbers as NumPy for the same seed, for orders and
// splits that have to match Keras's. Must be used by one thread at a time.
class NumpyRandomState {
 public:
  // Throws InvalidArgument unless 0 <= seed < 2^32.
  explicit NumpyRandomState(int64_t seed);

  // In [0, most].
  uint64_t random_interval(uint64_t most);

  // A permutation of 0 to count - 1, as made by shuffle().
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
