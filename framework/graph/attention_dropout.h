// SPDX-License-Identifier: Apache-2.0
// What the attribute "dropout" of attention and its gradient says. Their last operand is then what
// is kept, bool (batch, heads, T, S): probabilities become 0 where it is false, and the others are
// multiplied by kept_scale.
#pragma once

#include "framework/graph/attributes.h"

namespace cornu {

// 0, nothing is dropped, where there is no such attribute.
inline double attention_dropout(const Attributes& attributes) {
  return attributes.find("dropout") ? attributes.get_double("dropout") : 0;
}

// 0 where all is dropped.
inline double kept_scale(double dropout) { return dropout < 1 ? 1 / (1 - dropout) : 0; }

}  // namespace cornu
