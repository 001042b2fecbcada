// SPDX-License-Identifier: Apache-2.0
// Placing variables next to related ones, e.g. an optimizer's slots next to the variable it
// updates.
#pragma once

#include "framework/core/variable.h"

namespace cornu {

// While this guard is alive, variables of the same shape created on this thread are kept where
// `variable` is, if a VariableOwner assigns homes to variables. `variable` must outlive the guard.
// Guards nest.
class [[nodiscard]] PlacedWith {
 public:
  explicit PlacedWith(const Variable& variable);
  ~PlacedWith();
  PlacedWith(const PlacedWith&) = delete;
  PlacedWith& operator=(const PlacedWith&) = delete;
  // The variable of the innermost guard; null outside of guards.
  static const Variable* current();

 private:
  const Variable* previous_;
};

}  // namespace cornu
