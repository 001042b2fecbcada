// SPDX-License-Identifier: Apache-2.0
// How work along one axis is divided among the thread groups of groups.cu.
#pragma once

#include <cstdint>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

inline constexpr int64_t kGroupBlock = 256;

inline int64_t quotient_up(int64_t count, int64_t of) { return (count + of - 1) / of; }

inline constexpr int64_t kWidestGroup = 32;
// For kernels that join the parts of an axis: many groups, each reading a few columns of small
// arrays.
inline constexpr int64_t kJoiningWidth = 4;

// What one thread works on, and the maximum width of groups.
struct GroupGrain {
  int64_t columns = 1;  // adjacent columns
  int64_t unit = 1;     // elements along the axis that are read together
  int64_t steps =
      8;  // minimum number of `unit`s per thread: fewer threads are used if there is less work
  int64_t most_width = kWidestGroup;
};

// An array [outer, count, inner], reduced along `count`.
struct Groups {
  int64_t outer;
  int64_t count;
  int64_t inner;
  int64_t width;  // of a group: see groups.cu
  int64_t depth;
  int64_t tiles;      // adjacent groups
  int64_t parts = 1;  // of `count`
  int64_t each;       // elements per part

  Groups(int64_t outer_count, int64_t axis_count, int64_t inner_count,
         const GroupGrain& grain = {});
  // Along an axis of an array.
  static Groups along(const Shape& shape, int64_t axis);

  // Divides long axes into parts, to occupy a whole GPU and to compute sums of many numbers from
  // sums of few.
  void divide(const GroupGrain& grain = {});

  bool is_empty() const { return outer * count * inner == 0; }
  int64_t results() const { return outer * parts * inner; }
  Dim3 blocks() const { return blocks_for(outer * parts * tiles, kGroupBlock / (width * depth)); }
};

}  // namespace cornu::cuda
