// SPDX-License-Identifier: Apache-2.0
// Gradients of recurrences that are one op, to any order.
#pragma once

#include "framework/graph/op.h"

namespace cornu {

// Gives "lstm_grad" its vjp, and "lstm" that of its gates, which the gradient of "lstm_grad" reads:
// both are those of the same computed step by step.
void register_recurrent_vjps(OpRegistry& registry);

}  // namespace cornu
