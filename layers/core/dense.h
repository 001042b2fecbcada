// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

struct DenseOptions {
  int64_t units = 0;  // required, > 0
  cornu::Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::optional<int64_t> lora_rank = {};        // enables LoRA: see LoraOptions
  std::optional<double> lora_alpha = {};        // lora_rank is used instead, as in Keras 3.15
  QuantizationConfig quantization_config = {};  // for an int8 or int4 dtype; None: the default
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Dense: activation(inputs * kernel + bias).
//
// (batch, …, n) -> (batch, …, units). Integer inputs are cast to the layer's compute dtype.
// Weights: kernel (n, units), bias (units,). When quantized, or with the dtype "int8_from_float32":
// kernel as int8, bias, kernel_scale (units,). As int4 ("int4/128_from_float32"): kernel (n,
// ceil(units / 2)) with two numbers per byte, bias, kernel_scale and kernel_zero (ceil(n / 128),
// units), and g_idx (n,), the block of each row; without blocks ("int4_from_float32"), scales are
// as for int8.
class Dense final : public LayerHandle {
 public:
  explicit Dense(const DenseOptions& options = {});
  static Dense from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable kernel() const { return weight("kernel"); }
  Variable bias() const { return weight("bias"); }
};

}  // namespace cornu::layers
