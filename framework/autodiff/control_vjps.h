// SPDX-License-Identifier: Apache-2.0
// Gradients of control flow, which use a tape themselves.
#pragma once

#include "framework/graph/op.h"

namespace cornu {

// Registers the vjps of the ops "cond", "scan" and "while". The gradient of a cond is a cond over
// the gradients of its branches; that of a scan, or of a while with a bound, is a scan over its
// iterations in reverse order; that of a while without a bound throws Unimplemented.
void register_control_vjps(OpRegistry& registry);

}  // namespace cornu
