// SPDX-License-Identifier: Apache-2.0
// What variables are made to be beside: an optimizer's slots beside what it updates.
#pragma once

#include "framework/core/variable.h"

namespace cornu {

// Variables of the same shape that are made on this thread until the guard ends are kept where
// `variable` is, which outlives it, by whoever gives variables their homes. Guards nest.
class [[nodiscard]] PlacedWith {
 public:
  explicit PlacedWith(const Variable& variable);
  ~PlacedWith();
  PlacedWith(const PlacedWith&) = delete;
  PlacedWith& operator=(const PlacedWith&) = delete;
  // The innermost one's; null outside.
  static const Variable* current();

 private:
  const Variable* previous_;
};

}  // namespace cornu
