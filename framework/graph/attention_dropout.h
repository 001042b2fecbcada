// SPDX-License-Identifier: Apache-2.0
// The attribute "dropout" of attention and its gradient. With it, the last operand is a bool mask
// (batch, heads, T, S) of the probabilities to keep: the others become 0, and kept ones are
// multiplied by kept_scale.
#pragma once

#include "framework/graph/attributes.h"

namespace cornu {

// Returns 0 (nothing is dropped) when the attribute is missing.
inline double attention_dropout(const Attributes& attributes) {
  return attributes.find("dropout") ? attributes.get_double("dropout") : 0;
}

// Returns 0 when everything is dropped.
inline double kept_scale(double dropout) { return dropout < 1 ? 1 / (1 - dropout) : 0; }

}  // namespace cornu
