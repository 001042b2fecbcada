// SPDX-License-Identifier: Apache-2.0
// Gradients, of any order, of recurrences that are a single op.
#pragma once

#include "framework/graph/op.h"

namespace cornu {

// Registers the vjp of "lstm_grad", and the vjp of the gates of "lstm", which the gradient of
// "lstm_grad" needs: both are those of the same computation done step by step.
void register_recurrent_vjps(OpRegistry& registry);

}  // namespace cornu
