// SPDX-License-Identifier: Apache-2.0
// The random number generator of Python's random module.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace cornu::data {

// random.Random: shuffles in the same order as Python's random.shuffle for the same seed. Must be
// used by one thread at a time.
class PythonRandom {
 public:
  explicit PythonRandom(int64_t seed);

  // In [0, count), count >= 1 and < 2^32.
  uint64_t below(uint64_t count);

  template <class T>
  void shuffle(std::span<T> items) {
    for (size_t i = items.size(); i-- > 1;) {
      std::swap(items[i], items[static_cast<size_t>(below(i + 1))]);
    }
  }

 private:
  std::mt19937 engine_;
};

}  // namespace cornu::data
