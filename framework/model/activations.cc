// SPDX-License-Identifier: Apache-2.0
#include "framework/model/activations.h"

#include "framework/model/register.h"
#include "framework/ops/ops.h"

namespace cornu::activations {

Tensor relu(const Tensor& x, const ReluOptions& options) {
  const double slope = options.negative_slope;
  const double threshold = options.threshold;
  if (threshold == 0 && !options.max_value) {
    return slope == 0 ? ops::relu(x) : ops::leaky_relu(x, slope);
  }
  Tensor result = threshold == 0 ? ops::relu(x) : ops::where(x > threshold, x, 0.0);
  if (options.max_value) result = ops::minimum(result, *options.max_value);
  if (slope != 0) result = result - slope * ops::relu(threshold - x);
  return result;
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return ops::leaky_relu(x, negative_slope);
}
Tensor relu6(const Tensor& x) { return ops::relu6(x); }
Tensor elu(const Tensor& x, double alpha) { return ops::elu(x, alpha); }
Tensor celu(const Tensor& x, double alpha) { return ops::celu(x, alpha); }
Tensor selu(const Tensor& x) { return ops::selu(x); }
Tensor gelu(const Tensor& x, bool approximate) { return ops::gelu(x, approximate); }
Tensor silu(const Tensor& x) { return ops::silu(x); }
Tensor hard_silu(const Tensor& x) { return ops::hard_silu(x); }
Tensor mish(const Tensor& x) { return ops::mish(x); }
Tensor tanh(const Tensor& x) { return ops::tanh(x); }
Tensor hard_tanh(const Tensor& x) { return ops::hard_tanh(x); }
Tensor tanh_shrink(const Tensor& x) { return ops::tanh_shrink(x); }
Tensor hard_shrink(const Tensor& x, double threshold) { return ops::hard_shrink(x, threshold); }
Tensor soft_shrink(const Tensor& x, double threshold) { return ops::soft_shrink(x, threshold); }
Tensor threshold(const Tensor& x, double threshold, double default_value) {
  return ops::threshold(x, threshold, default_value);
}
Tensor sigmoid(const Tensor& x) { return ops::sigmoid(x); }
Tensor hard_sigmoid(const Tensor& x) { return ops::hard_sigmoid(x); }
Tensor log_sigmoid(const Tensor& x) { return ops::log_sigmoid(x); }
Tensor sparse_sigmoid(const Tensor& x) { return ops::sparse_sigmoid(x); }
Tensor sparse_plus(const Tensor& x) { return ops::sparse_plus(x); }
Tensor softplus(const Tensor& x) { return ops::softplus(x); }
Tensor softsign(const Tensor& x) { return ops::softsign(x); }
Tensor squareplus(const Tensor& x, double b) { return ops::squareplus(x, b); }
Tensor exponential(const Tensor& x) { return ops::exp(x); }
Tensor linear(const Tensor& x) { return x; }
Tensor softmax(const Tensor& x, const Axes& axis) { return ops::softmax(x, axis); }
Tensor log_softmax(const Tensor& x, const Axes& axis) { return ops::log_softmax(x, axis); }
Tensor sparsemax(const Tensor& x, int64_t axis) { return ops::sparsemax(x, axis); }
Tensor glu(const Tensor& x, int64_t axis) { return ops::glu(x, axis); }

void register_all(Registry<ActivationFunction>& registry) {
  const std::pair<const char*, ActivationFunction> functions[] = {
      {"celu", [](const Tensor& x) { return celu(x); }},
      {"elu", [](const Tensor& x) { return elu(x); }},
      {"exponential", exponential},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"glu", [](const Tensor& x) { return glu(x); }},
      {"hard_shrink", [](const Tensor& x) { return hard_shrink(x); }},
      {"hard_sigmoid", hard_sigmoid},
      {"hard_silu", hard_silu},
      {"hard_tanh", hard_tanh},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
      {"linear", linear},
      {"log_sigmoid", log_sigmoid},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
      {"mish", mish},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"relu6", relu6},
      {"selu", selu},
      {"sigmoid", sigmoid},
      {"silu", silu},
      {"soft_shrink", [](const Tensor& x) { return soft_shrink(x); }},
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"softplus", softplus},
      {"softsign", softsign},
      {"sparse_plus", sparse_plus},
      {"sparse_sigmoid", sparse_sigmoid},
      {"sparsemax", [](const Tensor& x) { return sparsemax(x); }},
      {"squareplus", [](const Tensor& x) { return squareplus(x); }},
      {"tanh", tanh},
      {"tanh_shrink", tanh_shrink},
  };
  for (const auto& [name, function] : functions) registry.add(name, function);
  registry.add_alias("swish", "silu");
  registry.add_alias("hard_swish", "hard_silu");
}

}  // namespace cornu::activations
