// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

struct EinsumDenseOptions {
  // "input,kernel->output", with a letter for each axis; "..." before or after the input's and the
  // output's letters represents axes that are kept. Required.
  std::string equation = {};
  Shape output_shape = {};  // excluding the batch and "..."; kUnknown: as in the input
  cornu::Activation activation = {};
  std::optional<std::string> bias_axes = {};  // the output letters that the bias has; None: no bias
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::optional<int64_t> lora_rank = {};        // enables LoRA: see LoraOptions
  std::optional<double> lora_alpha = {};        // None: lora_rank
  QuantizationConfig quantization_config = {};  // for an int8 or int4 dtype; None: the default
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.EinsumDense: activation(einsum(equation, inputs, kernel) + bias).
//
//   layers::EinsumDense({.equation = "abc,cd->abd", .output_shape = {kUnknown, 64}})
//
// Integer inputs are cast to the layer's compute dtype.
// Weights: kernel, with the sizes of its letters; bias, with the output's axes starting from the
// first one in bias_axes, where axes not in bias_axes have size 1. When quantized, or with the
// dtype "int8_from_float32": the kernel is int8, and kernel_scale has the output's axes, where axes
// that the kernel lacks have size 1. As int4, the weights are like Dense's, for the kernel reshaped
// to a matrix: its rows are the axes that the kernel doesn't share with the output, its columns the
// others.
class EinsumDense final : public LayerHandle {
 public:
  explicit EinsumDense(const EinsumDenseOptions& options = {});
  static EinsumDense from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable kernel() const { return weight("kernel"); }
  Variable bias() const { return weight("bias"); }
};

}  // namespace cornu::layers
