// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels that sum values up on the way.
#pragma once

#include <string>

#include "framework/backends/cuda/kernels/elementwise/body.h"

namespace cornu::cuda {

// Parts of the rows are summed up by a block each, in an order that the shape fixes; a second
// kernel adds the parts.
void lower_sums(const ElementwiseBody& body, const std::string& name, Lowering& lowering);

}  // namespace cornu::cuda
