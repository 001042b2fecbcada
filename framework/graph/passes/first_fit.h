// SPDX-License-Identifier: Apache-2.0
// Places blocks of memory by their lifetimes.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace cornu::passes {

// Each block goes to the lowest offset that is free during its whole life. What is taken is kept in
// a tree over time, neighbours joined, so that a block meets few stretches however many blocks lie
// there.
class FirstFit {
 public:
  // Times are in [0, times).
  explicit FirstFit(int times);

  // Takes `bytes` from time `first` to time `last`, both included; returns the offset.
  size_t place(size_t bytes, int first, int last);

  // How many stretches of taken memory all calls have looked at.
  size_t steps() const { return steps_; }

 private:
  // Stretches of memory that don't touch: begin to end.
  using Taken = std::map<size_t, size_t>;
  // A node of the tree stands for a range of times.
  struct Range {
    Taken always;     // by blocks that live through all of it, and maybe longer
    Taken sometimes;  // by blocks that live at some time of it, or through it
  };

  template <class Visit>
  void visit(size_t node, int begin, int end, int first, int last, Visit visit_range);

  std::vector<Range> tree_;
  size_t steps_ = 0;
};

}  // namespace cornu::passes
