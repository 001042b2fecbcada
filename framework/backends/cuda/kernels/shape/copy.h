// SPDX-License-Identifier: Apache-2.0
// Copies of strided arrays to contiguous ones: for transposing, slicing, reversing and
// broadcasting.
#pragma once

#include <string>
#include <vector>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// An axis of the result, and the stride in elements of the input along it, which may be zero or
// negative.
struct CopyAxis {
  int64_t size = 1;
  int64_t from = 0;
};

// Adds the steps that copy elements of input 0 to output 0: the first one at `from`, the others
// according to the axes, outermost first.
void add_strided_copy(const KernelSpec& spec, std::vector<CopyAxis> axes, int64_t from,
                      Lowering& lowering);

// Copies all of input 0 to output 0.
void add_plain_copy(const KernelSpec& spec, Lowering& lowering);

}  // namespace cornu::cuda
