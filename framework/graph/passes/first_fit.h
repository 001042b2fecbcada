// SPDX-License-Identifier: Apache-2.0
// Assigns memory offsets to blocks by their lifetimes.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace cornu::passes {

// Each block is placed at the lowest offset that is free during its whole lifetime. Occupied
// intervals of memory are kept in a segment tree over time, with adjacent ones merged, so that
// placing a block inspects only a few of them, however many blocks there are; more only if
// lifetimes of many lengths interleave.
class FirstFit {
 public:
  // Times are in [0, times).
  explicit FirstFit(int times);

  // Allocates `bytes` from time `first` to time `last`, both inclusive; returns the offset.
  size_t place(size_t bytes, int first, int last);

  // The number of occupied intervals inspected by all calls.
  size_t steps() const { return steps_; }

 private:
  // Occupied intervals of memory, begin to end, disjoint and not adjacent.
  using Taken = std::map<size_t, size_t>;
  // A node of the tree, which represents a range of times.
  struct Range {
    Taken always;     // by blocks that live throughout the range, and maybe longer
    Taken sometimes;  // by blocks that live at some time of the range, or throughout it
  };

  template <class Visit>
  void visit(size_t node, int begin, int end, int first, int last, Visit visit_range);

  // The lowest offset where `bytes` don't overlap any of the obstacles.
  size_t lowest_free(const std::vector<const Taken*>& obstacles, size_t bytes);

  std::vector<Range> tree_;
  size_t steps_ = 0;
};

}  // namespace cornu::passes
