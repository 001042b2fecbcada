// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "framework/backends/cpu/loop_kernels.h"
#include "framework/graph/function.h"

namespace cornu::cpu {

// What this thread's loops do in the second call of f, which is compiled by then.
inline LoopCounts counts_of(const Function& f, const std::vector<Tensor>& inputs) {
  f.call(inputs);
  const LoopCounts before = loop_counts();
  f.call(inputs);
  const LoopCounts after = loop_counts();
  return {after.iterations - before.iterations, after.copied_bytes - before.copied_bytes};
}

}  // namespace cornu::cpu
