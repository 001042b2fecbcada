// SPDX-License-Identifier: Apache-2.0
// Which nodes of a trace gradients compute once more, rather than keep their values.
#pragma once

#include <cstdint>

namespace cornu {

// What is traced on this thread until the guard ends is one region: of its values, gradients keep
// those that are read outside of it, and compute the others once more (passes::rematerialize). A
// region within another one is a part of that. Without effect on ops that run at once.
class [[nodiscard]] RematRegion {
 public:
  RematRegion();
  ~RematRegion();
  RematRegion(const RematRegion&) = delete;
  RematRegion& operator=(const RematRegion&) = delete;

  // What was traced in it is none, after all: gradients keep its values.
  void give_up();
  static int64_t current();  // its number; 0: none

 private:
  int64_t outer_;
};

// What is traced on this thread until the guard ends is a gradient's computation.
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
