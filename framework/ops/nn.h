// SPDX-License-Identifier: Apache-2.0
// Activations and cross-entropies (keras.ops.nn). Integers become float32.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// ---- activations ----

Tensor relu(const Tensor& x);                                     // max(x, 0)
Tensor relu6(const Tensor& x);                                    // min(max(x, 0), 6)
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.2);  // negative_slope * x below 0
Tensor elu(const Tensor& x, double alpha = 1.0);                  // alpha * expm1(x) below 0
Tensor selu(const Tensor& x);                                     // Klambauer et al. 2017
Tensor celu(const Tensor& x, double alpha = 1.0);                 // Barron 2017
Tensor gelu(const Tensor& x, bool approximate = true);            // approximate: with tanh
Tensor silu(const Tensor& x);                                     // x * sigmoid(x)
Tensor swish(const Tensor& x);                                    // alias of silu
Tensor sigmoid(const Tensor& x);
Tensor log_sigmoid(const Tensor& x);
Tensor hard_sigmoid(const Tensor& x);                         // relu6(x + 3) / 6
Tensor hard_silu(const Tensor& x);                            // x * hard_sigmoid(x)
Tensor hard_swish(const Tensor& x);                           // alias of hard_silu
Tensor hard_tanh(const Tensor& x);                            // clip(x, -1, 1)
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);  // 0 where |x| <= threshold
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);  // x moved towards 0 by threshold
Tensor tanh_shrink(const Tensor& x);                          // x - tanh(x)
Tensor softplus(const Tensor& x);                             // log(1 + exp(x))
Tensor softsign(const Tensor& x);                             // x / (1 + |x|)
Tensor sparse_plus(const Tensor& x);                          // 0, (x + 1)^2 / 4, x
Tensor sparse_sigmoid(const Tensor& x);                       // 0, (x + 1) / 2, 1
Tensor squareplus(const Tensor& x, double b = 4);             // (x + sqrt(x^2 + b)) / 2
Tensor mish(const Tensor& x);                                 // x * tanh(softplus(x))
Tensor exponential(const Tensor& x);                          // exp(x)
Tensor threshold(const Tensor& x, double threshold, double default_value);  // x above, else default

// Over one axis, several together, or (None) all.
Tensor softmax(const Tensor& x, const Axes& axis = -1);
Tensor log_softmax(const Tensor& x, const Axes& axis = -1);
// Over one axis.
// The projection onto the simplex (Martins and Astudillo 2016). Keras up to 3.15 returns another
// result when several elements are positive.
Tensor sparsemax(const Tensor& x, int64_t axis = -1);
Tensor glu(const Tensor& x, int64_t axis = -1);  // first half * sigmoid(second half)

// ---- cross-entropies ----
//
// For an output of softmax (along the last axis) or sigmoid, the input of that activation is used
// instead of clipped logarithms, regardless of from_logits, as Keras does on TensorFlow. With any
// other op in between, even a cast, they are treated like any probabilities.

// Elementwise: target in [0, 1], and output a probability, or any number with from_logits.
// Probabilities are clipped to [1e-7, 1 - 1e-7].
Tensor binary_crossentropy(const Tensor& target, const Tensor& output, bool from_logits = false);

struct CategoricalCrossentropyOptions {
  bool from_logits = false;
  int64_t axis = -1;  // of the classes
};

// -sum(target * log(output)) over the classes. Probabilities are divided by their sum and clipped
// to [1e-7, 1 - 1e-7]. Throws InvalidArgument when the shapes differ.
Tensor categorical_crossentropy(const Tensor& target, const Tensor& output,
                                const CategoricalCrossentropyOptions& options = {});

struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  std::optional<int64_t> ignore_class = {};  // targets of this class have loss 0
  int64_t axis = -1;
};

// Overload for targets that are class numbers: target has output's shape without `axis` (or with
// size 1 there). A class outside of [0, classes) throws InvalidArgument when the op runs.
Tensor sparse_categorical_crossentropy(const Tensor& target, const Tensor& output,
                                       const SparseCategoricalCrossentropyOptions& options = {});

// The fused ops behind from_logits, over the last axis: returns the loss (...) and softmax(logits)
// (..., C).
std::pair<Tensor, Tensor> softmax_cross_entropy(const Tensor& logits, const Tensor& targets);
std::pair<Tensor, Tensor> sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels,
                                                       std::optional<int64_t> ignore_class = {});

}  // namespace cornu::ops
