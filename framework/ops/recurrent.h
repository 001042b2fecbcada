// SPDX-License-Identifier: Apache-2.0
// Recurrences over time as a single op.
#pragma once

#include <cstdint>

#include "framework/core/tensor.h"

namespace cornu::ops {

struct LstmOptions {
  bool go_backwards = false;  // from the last step to the first
};

struct LstmResult {
  Tensor outputs;  // h of every step, (time, batch, units), at the index of its input
  Tensor h;        // after the last step that ran, (batch, units)
  Tensor c;
};

// A long short-term memory (Hochreiter and Schmidhuber 1997; with Keras's order of gates) over
//   z_t = inputs_t + h recurrent_kernel;  i, f, o = sigmoid(z's parts 0, 1, 3), g = tanh(part 2)
//   c = f c + i g;  h = o tanh(c)
// inputs: (time, batch, 4 units), already multiplied by the kernel and with the bias added; h, c:
// (batch, units); recurrent_kernel: (units, 4 units). All float32, time >= 1.
// Second-order gradients are computed step by step, like a scan. Throws InvalidArgument for other
// shapes or dtypes.
LstmResult lstm(const Tensor& inputs, const Tensor& h, const Tensor& c,
                const Tensor& recurrent_kernel, const LstmOptions& options = {});

}  // namespace cornu::ops
