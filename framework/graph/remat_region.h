// SPDX-License-Identifier: Apache-2.0
// Marks the nodes of a trace that gradients recompute instead of keeping their values.
#pragma once

#include <cstdint>

namespace cornu {

// Everything traced on this thread until the guard is destroyed forms one region: gradients keep
// only those of its values that are read outside of the region, and recompute the others
// (passes::rematerialize). A nested region is part of the outer one. No effect on eager ops.
class [[nodiscard]] RematRegion {
 public:
  RematRegion();
  ~RematRegion();
  RematRegion(const RematRegion&) = delete;
  RematRegion& operator=(const RematRegion&) = delete;

  // Cancels the region: gradients keep its values after all.
  void give_up();
  static int64_t current();  // the region's number; 0: none

 private:
  int64_t outer_;
};

// Everything traced on this thread until the guard is destroyed is part of a gradient computation.
class [[nodiscard]] GradientScope {
 public:
  GradientScope();
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

  static bool is_active();

 private:
  bool outer_;
};

}  // namespace cornu
