// SPDX-License-Identifier: Apache-2.0
// Copies between arrays of different strides, for transposing, slicing, reversing, broadcasting,
// padding and concatenating.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cornu::cpu {

// One axis of a copy, with strides in elements; `from` may be zero or negative.
struct CopyAxis {
  int64_t size;
  int64_t from;
  int64_t to;
};

// A prepared copy: to[to_offset + i·to] = from[from_offset + i·from] for every index i of the axes
// (outermost first in `to`).
class StridedCopy {
 public:
  // `element`: bytes of an element: 1, 2, 4 or 8.
  StridedCopy(size_t element, const std::vector<CopyAxis>& axes, int64_t from_offset = 0,
              int64_t to_offset = 0);

  // Uses the compute threads.
  void run(const void* from, void* to) const;

 private:
  template <class T>
  void run_as(const T* from, T* to) const;
  template <class T>
  void run_tiles(const T* from, T* to) const;
  template <class Visit>
  void each_outer(int64_t begin, int64_t end, int64_t skipped, Visit visit) const;

  size_t element_;
  int64_t from_offset_;
  int64_t to_offset_;
  std::vector<CopyAxis> outer_;
  CopyAxis inner_{1, 1, 1};   // the last axis
  CopyAxis rows_{1, 1, 1};    // the axis before it, of short rows that aren't transposed
  CopyAxis across_{1, 1, 1};  // the outer axis along which `from` is contiguous
  bool tiles_ = false;        // `across_` and `inner_` are transposed in tiles
  int64_t outer_count_ = 1;
};

// to[2 i] = a[i] and to[2 i + 1] = b[i], for i < count. Uses the compute threads.
void interleave(size_t element, const void* a, const void* b, void* to, int64_t count);

}  // namespace cornu::cpu
