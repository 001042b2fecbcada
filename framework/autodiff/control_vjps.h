// SPDX-License-Identifier: Apache-2.0
// Gradients of control flow, which need a tape themselves.
#pragma once

#include "framework/graph/op.h"

namespace cornu {

// Gives the ops "cond", "scan" and "while" their vjps. A cond's gradient is a cond over its
// branches' own gradients; that of a scan, and of a while with a bound, is a scan over its
// iterations in the other order; a while's without a bound is Unimplemented.
void register_control_vjps(OpRegistry& registry);

}  // namespace cornu
