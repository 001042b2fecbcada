// SPDX-License-Identifier: Apache-2.0
// Activations (keras.activations). All of them except the softmax variants and glu are elementwise.
// Options accept them by name ("relu"), which is also how they are saved.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::activations {

struct ReluOptions {
  double negative_slope = 0.0;
  std::optional<double> max_value = {};
  double threshold = 0.0;
};

// Returns x above `threshold` (at most max_value) and negative_slope * (x - threshold) below it.
Tensor relu(const Tensor& x, const ReluOptions& options = {});
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);
Tensor relu6(const Tensor& x);  // min(max(x, 0), 6)
Tensor elu(const Tensor& x, double alpha = 1.0);
Tensor celu(const Tensor& x, double alpha = 1.0);
Tensor selu(const Tensor& x);
Tensor gelu(const Tensor& x, bool approximate = false);  // approximate: tanh approximation
Tensor silu(const Tensor& x);                            // x * sigmoid(x); "swish"
Tensor hard_silu(const Tensor& x);                       // "hard_swish"
Tensor mish(const Tensor& x);                            // x * tanh(softplus(x))
Tensor tanh(const Tensor& x);
Tensor hard_tanh(const Tensor& x);
Tensor tanh_shrink(const Tensor& x);
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);
Tensor threshold(const Tensor& x, double threshold, double default_value);
Tensor sigmoid(const Tensor& x);
Tensor hard_sigmoid(const Tensor& x);
Tensor log_sigmoid(const Tensor& x);
Tensor sparse_sigmoid(const Tensor& x);
Tensor sparse_plus(const Tensor& x);
Tensor softplus(const Tensor& x);
Tensor softsign(const Tensor& x);
Tensor squareplus(const Tensor& x, double b = 4);
Tensor exponential(const Tensor& x);
Tensor linear(const Tensor& x);
// `axis` may be a single axis, several axes reduced together (`softmax(x, {1, 2})`), or None for
// all.
Tensor softmax(const Tensor& x, const Axes& axis = -1);
Tensor log_softmax(const Tensor& x, const Axes& axis = -1);
Tensor sparsemax(const Tensor& x, int64_t axis = -1);
// Splits `axis` in half and multiplies the first half by the sigmoid of the second.
Tensor glu(const Tensor& x, int64_t axis = -1);

}  // namespace cornu::activations
