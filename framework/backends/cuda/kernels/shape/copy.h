// SPDX-License-Identifier: Apache-2.0
// Copies of arrays whose axes have any strides to contiguous ones: for transposing, slicing,
// reversing and broadcasting.
#pragma once

#include <string>
#include <vector>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// An axis of the result, and how many elements of the input one step along it is: zero or less than
// that, too.
struct CopyAxis {
  int64_t size = 1;
  int64_t from = 0;
};

// Adds the steps that make output 0 of elements of input 0: the first one at `from`, the others by
// the axes, outermost first.
void add_strided_copy(const KernelSpec& spec, std::vector<CopyAxis> axes, int64_t from,
                      Lowering& lowering);

// Output 0 is input 0, all of it.
void add_plain_copy(const KernelSpec& spec, Lowering& lowering);

}  // namespace cornu::cuda
