// SPDX-License-Identifier: Apache-2.0
// Runs tests with the kernels of each instruction set.
#pragma once

#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <string>

namespace cornu::cpu::testing {

// Calls `body` with the vectorized kernels of each instruction set that is compiled in and that
// this machine supports.
template <class F>
void for_each_instruction_set(F body) {
  const int64_t all = hwy::SupportedTargets();
  for (const int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
    if ((all & target) == 0) continue;
    CAPTURE(std::string(hwy::TargetName(target)));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace cornu::cpu::testing
