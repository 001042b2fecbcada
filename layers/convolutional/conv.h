// SPDX-License-Identifier: Apache-2.0
// Convolutions over 1, 2 or 3 spatial axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

template <int kAxes>
struct ConvOptions {
  int64_t filters = 0;           // required, > 0
  Size<kAxes> kernel_size = {};  // required
  Size<kAxes> strides = 1;
  std::string padding = "valid";  // or "same"; Conv1D also has "causal"
  std::string data_format = {};   // None: "channels_last"; or "channels_first"
  Size<kAxes> dilation_rate = 1;  // incompatible with strides > 1
  int64_t groups = 1;             // must divide the channels and the filters
  cornu::Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::optional<int64_t> lora_rank = {};  // enables LoRA: see LoraOptions
  std::optional<double> lora_alpha = {};  // None: lora_rank
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Conv1D, Conv2D, Conv3D: activation(convolution(inputs, kernel) + bias).
//
// (batch, spatial…, channels) -> (batch, new spatial…, filters). "same" preserves the spatial sizes
// (divided by the strides, rounded up); if the padding is odd, the larger half is at the end.
// Weights: kernel (*kernel_size, channels / groups, filters), bias (filters,).
template <int kAxes>
class Conv final : public LayerHandle {
 public:
  explicit Conv(const ConvOptions<kAxes>& options = {});
  static Conv from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable kernel() const { return weight("kernel"); }
  Variable bias() const { return weight("bias"); }
};

using Conv1DOptions = ConvOptions<1>;
using Conv2DOptions = ConvOptions<2>;
using Conv3DOptions = ConvOptions<3>;
using Conv1D = Conv<1>;
using Conv2D = Conv<2>;
using Conv3D = Conv<3>;
using Convolution1D = Conv1D;
using Convolution2D = Conv2D;
using Convolution3D = Conv3D;

}  // namespace cornu::layers
