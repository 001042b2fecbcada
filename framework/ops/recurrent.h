// SPDX-License-Identifier: Apache-2.0
// Recurrences over time as a single op.
#pragma once

#include <cstdint>

#include "framework/core/tensor.h"

namespace cornu::ops {

struct RecurrenceOptions {
  bool go_backwards = false;  // from the last step to the first
  // bool (time, batch): where it is false, the row keeps its state in that step, and gradients go
  // past the step. Default: no row skips a step.
  Tensor mask = {};
};

struct LstmResult {
  Tensor outputs;  // h of every step, (time, batch, units), at the index of its input
  Tensor h;        // after the last step that ran, (batch, units)
  Tensor c;
};

struct GruResult {
  Tensor outputs;  // like those of an LSTM
  Tensor h;
};

// A long short-term memory (Hochreiter and Schmidhuber 1997; with Keras's order of gates) over
//   z_t = inputs_t + h recurrent_kernel;  i, f, o = sigmoid(z's parts 0, 1, 3), g = tanh(part 2)
//   c = f c + i g;  h = o tanh(c)
// inputs: (time, batch, 4 units), already multiplied by the kernel and with the bias added; h, c:
// (batch, units); recurrent_kernel: (units, 4 units). All float32, time >= 1.
// Second-order gradients are computed step by step, like a scan. Throws InvalidArgument for other
// shapes or dtypes.
LstmResult lstm(const Tensor& inputs, const Tensor& h, const Tensor& c,
                const Tensor& recurrent_kernel, const RecurrenceOptions& options = {});

// Gated recurrent units (Cho et al. 2014; Keras's, with reset_after) over
//   p_t = h recurrent_kernel + recurrent_bias;  z, r = sigmoid(inputs_t + p_t, parts 0, 1)
//   h = z h + (1 - z) tanh(part 2 of inputs_t + r part 2 of p_t)
// inputs: (time, batch, 3 units), as for lstm; h: (batch, units); recurrent_kernel: (units,
// 3 units); recurrent_bias: (3 units). Otherwise like lstm.
GruResult gru(const Tensor& inputs, const Tensor& h, const Tensor& recurrent_kernel,
              const Tensor& recurrent_bias, const RecurrenceOptions& options = {});

}  // namespace cornu::ops
