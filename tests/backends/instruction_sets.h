// SPDX-License-Identifier: Apache-2.0
// Runs tests with the kernels of each instruction set.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "framework/backends/cpu/kernels/elementwise/targets.h"

#include <hwy/targets.h>

namespace cornu::cpu::testing {

// Calls `body` with the vectorized kernels of each instruction set that is compiled in and that
// this machine supports.
template <class F>
void for_each_instruction_set(F body) {
  int64_t left = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  for (; left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    CAPTURE(std::string(hwy::TargetName(target)));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace cornu::cpu::testing
