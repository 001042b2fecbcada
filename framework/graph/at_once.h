// SPDX-License-Identifier: Apache-2.0
// Composite ops that are compiled and computed as a whole, rather than op by op.
#pragma once

#include <vector>

#include "framework/core/threads.h"
#include "framework/graph/op.h"

namespace cornu {

// Whether ops on these tensors are computed eagerly on the host and nothing needs to see the
// individual ops: there is no trace and no functional model. False for half-precision floats, which
// fused ops would round less often.
bool goes_at_once(const std::vector<Tensor>& inputs);

// Computes `body(inputs)`, where `body` consists of ops only, and which of its results are
// undefined depends on the inputs' types alone. If goes_at_once(inputs), the body is compiled like
// a function and cached by this thread, so that intermediate values stay in the CPU cache. It is
// compiled once the same types have occurred a few times, or on the first call if `composite` isn't
// elementwise, since its bits may then depend on it; never if intermediate values take much memory.
// Otherwise its ops are applied one by one. `composite` (its name) and `attributes` identify the
// body.
//
// If goes_at_once(inputs), and they aren't small, a gradient tape that follows one of them sees the
// body as one op, and keeps its inputs and outputs alone. Its gradient computes the intermediate
// values again, and is computed in the same way.
std::vector<Tensor> compute_at_once(
    const OpDef& composite, const std::vector<Tensor>& inputs, const Attributes& attributes,
    FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)> body);

// Sets the gradient of such an op, for tapes. Its context has the attribute "body", a graph.
// Called by register_composite_vjp, before the first tape is used.
void set_composite_vjp(VjpFunction vjp);

}  // namespace cornu
