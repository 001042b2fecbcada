// SPDX-License-Identifier: Apache-2.0
// Composites of ops that are computed at once, rather than op by op.
#pragma once

#include <vector>

#include "framework/core/threads.h"
#include "framework/graph/op.h"

namespace cornu {

// Whether what ops make of these tensors is computed now, on the host, and nobody asks for the
// single ops: no trace, no functional model, and no tape that follows one of them. Half floats
// don't count: fused ops round them less often.
bool goes_at_once(const std::vector<Tensor>& inputs);

// What `body` makes of `inputs` by ops alone. Where goes_at_once() says so, it is compiled as a
// function would be, and kept by this thread: intermediate values then stay in the cache. That is
// done when the same types have come a few times, or at once where `composite` isn't elementwise,
// whose bits may depend on it; never where intermediate values take much memory. Otherwise its ops
// are applied one by one. `composite` (its name) and `attributes` tell bodies apart.
Tensor compute_at_once(const OpDef& composite, const std::vector<Tensor>& inputs,
                       const Attributes& attributes,
                       FunctionRef<Tensor(const std::vector<Tensor>&)> body);

}  // namespace cornu
