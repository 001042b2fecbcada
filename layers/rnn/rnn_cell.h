// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::layers {

// What RNN needs of a cell beside Layer: `class MyCell : public Layer, public RNNCell`. The layer's
// call takes {the input of one step (batch, …), state, …}, as many states as state_size() says, and
// gives {output, new state, …}.
class RNNCell {
 public:
  virtual ~RNNCell() = default;

  // The size of each state, of shape (batch, size).
  virtual std::vector<int64_t> state_size() const = 0;
  // The size of the output, (batch, size); by default the first state's.
  virtual int64_t output_size() const { return state_size().at(0); }
  // States before the first step, for such an input of a step; by default zeros.
  virtual std::vector<Tensor> get_initial_state(const Tensor& step_input) const;
};

}  // namespace cornu::layers
