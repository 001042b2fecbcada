// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

struct EinsumDenseOptions {
  // "input,kernel->output", a letter for each axis; "..." before or after the input's and the
  // output's letters stands for axes that stay as they are. Must be given.
  std::string equation = {};
  Shape output_shape = {};  // without the batch and what "..." is; kUnknown: as the input's
  cornu::Activation activation = {};
  std::optional<std::string> bias_axes = {};  // the output's letters that the bias has; None: none
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::optional<int64_t> lora_rank = {};        // LoRA from the beginning: see LoraOptions
  std::optional<double> lora_alpha = {};        // None: as lora_rank
  QuantizationConfig quantization_config = {};  // of an int8 or int4 dtype; None: its default
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
// Weights: kernel, of the sizes of its letters; bias, of the output's axes from the first one of
// bias_axes on, with 1 for those that it lacks. Quantized, or with the dtype "int8_from_float32":
// the kernel is of int8, and kernel_scale has the output's axes, with 1 for those that the kernel
// lacks. As int4, they are Dense's, of the kernel reshaped to a matrix: as many rows as the axes
// that it doesn't share with the output have elements, and as many columns as the others.
class EinsumDense : public LayerHandle {
 public:
  explicit EinsumDense(const EinsumDenseOptions& options = {});
  static EinsumDense from_config(const Json& config);
  // FailedPrecondition before the layer is built, NotFound for one it was made without.
  Variable kernel() const { return weight("kernel"); }
  Variable bias() const { return weight("bias"); }
  // See LoraOptions.
  void enable_lora(const LoraOptions& options) const;
};

}  // namespace cornu::layers
