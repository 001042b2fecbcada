// SPDX-License-Identifier: Apache-2.0
// Gradients, of any order, of recurrences that are a single op.
#pragma once

#include "framework/graph/op.h"

namespace cornu {

// Registers the vjps of "lstm_grad" and "gru_grad", and those of the results of "lstm" and "gru"
// that the gradients of these need: all are those of the same computation done step by step.
void register_recurrent_vjps(OpRegistry& registry);

}  // namespace cornu
