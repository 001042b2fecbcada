// SPDX-License-Identifier: Apache-2.0
// Ops on string tensors, which reside on the host.
#pragma once

#include <vector>

#include "framework/graph/op.h"

namespace cornu {

// Applies `op` to tensors that include strings, if its traits say how it handles them: it runs on
// numbers that represent the strings, so that kernels needn't support strings. Throws
// InvalidArgument if the op's inputs don't go together.
std::vector<Tensor> apply_to_strings(const OpDef& op, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes);

}  // namespace cornu
