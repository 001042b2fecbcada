// SPDX-License-Identifier: Apache-2.0
// Separable convolutions: a depthwise convolution followed by a pointwise one.
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

template <int kAxes>
struct SeparableConvOptions {
  int64_t filters = 0;           // required, > 0
  Size<kAxes> kernel_size = {};  // required
  Size<kAxes> strides = 1;
  std::string padding = "valid";  // or "same"
  std::string data_format = {};   // None: "channels_last"; or "channels_first"
  Size<kAxes> dilation_rate = 1;  // incompatible with strides > 1
  int64_t depth_multiplier = 1;
  cornu::Activation activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint pointwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.SeparableConv1D, SeparableConv2D: (batch, spatial…, channels) ->
// (batch, new spatial…, filters).
//
// Weights: depthwise_kernel (*kernel_size, channels, depth_multiplier),
// pointwise_kernel (1…, channels * depth_multiplier, filters), bias (filters,).
template <int kAxes>
class SeparableConv final : public LayerHandle {
 public:
  explicit SeparableConv(const SeparableConvOptions<kAxes>& options = {});
  static SeparableConv from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable depthwise_kernel() const { return weight("depthwise_kernel"); }
  Variable pointwise_kernel() const { return weight("pointwise_kernel"); }
  Variable bias() const { return weight("bias"); }
};

using SeparableConv1DOptions = SeparableConvOptions<1>;
using SeparableConv2DOptions = SeparableConvOptions<2>;
using SeparableConv1D = SeparableConv<1>;
using SeparableConv2D = SeparableConv<2>;
using SeparableConvolution1D = SeparableConv1D;
using SeparableConvolution2D = SeparableConv2D;

}  // namespace cornu::layers
