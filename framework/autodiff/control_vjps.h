// SPDX-License-Identifier: Apache-2.0
// Gradients of control flow, which need a tape themselves.
#pragma once

namespace cornu {

// Gives the ops "cond" and "while" their vjps. A cond's gradient is a cond over its branches' own
// gradients; a while's is Unimplemented.
void register_control_vjps();

}  // namespace cornu
