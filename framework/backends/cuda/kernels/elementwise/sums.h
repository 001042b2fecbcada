// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels that also compute sums.
#pragma once

#include <string>

#include "framework/backends/cuda/kernels/elementwise/body.h"

namespace cornu::cuda {

// Each block sums up a part of the rows, in an order that depends only on the shape; a second
// kernel adds up the parts.
void lower_sums(const ElementwiseBody& body, const std::string& name, Lowering& lowering);

}  // namespace cornu::cuda
