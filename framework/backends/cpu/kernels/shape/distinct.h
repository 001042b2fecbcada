// SPDX-License-Identifier: Apache-2.0
// The distinct rows of a table that indices name, and the first place of each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cornu::cpu {

// The number of row numbers: those before the first -1, at most `most`.
inline int64_t count_rows(const int64_t* numbers, int64_t most) {
  return std::find(numbers, numbers + most, int64_t{-1}) - numbers;
}

// Numbers the distinct values of `count` indices, in the order in which they first occur.
class DistinctIndices {
 public:
  explicit DistinctIndices(int64_t count)
      : count_(count), bits_(std::bit_width(static_cast<uint64_t>(2 * count))) {}

  size_t bytes() const { return (size_t{1} << bits_) * sizeof(int64_t); }

  // Replaces each index in [begin, begin + size) by its number, and others by -1. Writes the
  // distinct indices, counted from `begin`, to `distinct`, and returns how many there are. `table`:
  // bytes() of memory.
  int64_t number(int64_t* index, int64_t begin, int64_t size, int64_t* distinct,
                 int64_t* table) const {
    const uint64_t mask = (uint64_t{1} << bits_) - 1;
    std::fill_n(table, mask + 1, -1);
    int64_t found = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t wanted = index[i] - begin;
      index[i] = -1;
      if (wanted < 0 || wanted >= size) continue;
      // Fibonacci hashing: Knuth, The Art of Computer Programming, 6.4.
      uint64_t place = (static_cast<uint64_t>(wanted) * 0x9E3779B97F4A7C15u) >> (64 - bits_);
      while (table[place] >= 0 && distinct[table[place]] != wanted) place = (place + 1) & mask;
      if (table[place] < 0) {
        distinct[found] = wanted;
        table[place] = found++;
      }
      index[i] = table[place];
    }
    return found;
  }

 private:
  int64_t count_;
  int bits_;
};

}  // namespace cornu::cpu
