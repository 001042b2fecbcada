// SPDX-License-Identifier: Apache-2.0
// Gradients of composites that were computed at once.
#pragma once

namespace cornu {

// Sets the gradient of compute_at_once: that of the composite's graph, whose values it computes
// again, itself computed at once where possible.
void register_composite_vjp();

}  // namespace cornu
