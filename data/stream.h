// SPDX-License-Identifier: Apache-2.0
// A pass over a dataset's items, as the transforms chain them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

namespace cornu::data {

// Items one after another. Used by one thread at a time; not restartable.
//
// Streams are deterministic: item k depends on k alone. So a position in one is a count, and
// skip(count) on a new stream restores it. Where items are costly, skip() is cheaper than next().
template <class Item>
class Stream {
 public:
  virtual ~Stream() = default;

  // False at the end.
  virtual bool next(Item& item) = 0;

  // Leaves out up to `count` items; fewer only at the end. Returns how many.
  virtual int64_t skip(int64_t count) {
    Item item;
    int64_t skipped = 0;
    while (skipped < count && next(item)) ++skipped;
    return skipped;
  }
};

template <class Item>
using StreamPtr = std::unique_ptr<Stream<Item>>;

// a * b of counts >= 0, or the largest number when that is too large.
inline int64_t saturating_product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

}  // namespace cornu::data
