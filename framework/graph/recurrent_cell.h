// SPDX-License-Identifier: Apache-2.0
// What distinguishes the cells of recurrences (lstm, gru), which backends otherwise run alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cornu {

// The operands and results of a cell's op are
//   inputs, states, recurrent_kernel, [recurrent_bias], [mask] -> states of all steps, gates,
//   [kept]
// and of its gradient, with that state which is the last,
//   gates, last of all steps, last before, recurrent_kernel, the gradients of all steps' states,
//   [kept], [mask] -> the gradients of inputs, states, [products]
// where those of a bias, kept values and products belong to a cell that `keeps`.
struct RecurrentCell {
  std::string_view name;
  int64_t gates;
  size_t states;
  bool keeps;  // whether the product with the recurrent kernel isn't simply added to the inputs

  // Without the mask.
  size_t operands() const { return states + 2 + (keeps ? 1 : 0); }
  size_t gradient_operands() const { return states + 4 + (keeps ? 1 : 0); }
};
inline constexpr RecurrentCell kLstmCell{"lstm", 4, 2, false};
inline constexpr RecurrentCell kGruCell{"gru", 3, 1, true};

}  // namespace cornu
