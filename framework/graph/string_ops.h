// SPDX-License-Identifier: Apache-2.0
// Ops of tensors of strings, which lie on the host.
#pragma once

#include <vector>

#include "framework/graph/op.h"

namespace cornu {

// `op` of tensors some of which are of strings, where its traits say what it does with them: it is
// run on numbers that stand for the strings, so that no kernel knows these. InvalidArgument where
// the op's inputs don't go together.
std::vector<Tensor> apply_to_strings(const OpDef& op, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes);

}  // namespace cornu
