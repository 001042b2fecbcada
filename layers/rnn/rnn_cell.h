// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::layers {

// The interface of RNN cells, in addition to Layer: `class MyCell : public Layer, public RNNCell`.
// The layer's call takes {the input of one step (batch, …), state, …}, with the number of states
// given by state_size(), and returns {output, new state, …}.
class RNNCell {
 public:
  virtual ~RNNCell() = default;

  // The size of each state, of shape (batch, size).
  virtual std::vector<int64_t> state_size() const = 0;
  // The size of the output, (batch, size); default: that of the first state.
  virtual int64_t output_size() const { return state_size().at(0); }
  // Returns the states before the first step, for such an input of a step; default: zeros.
  virtual std::vector<Tensor> get_initial_state(const Tensor& step_input) const;
};

}  // namespace cornu::layers
