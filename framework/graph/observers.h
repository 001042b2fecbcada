// SPDX-License-Identifier: Apache-2.0
// Telling a thread's observers about ops that weren't applied through dispatch.h.
#pragma once

#include <vector>

#include "framework/graph/op.h"

namespace cornu {

// Notifies this thread's observers (gradient tapes) that `op` has been applied.
void observe(const OpDef& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
             const std::vector<Tensor>& outputs);

}  // namespace cornu
