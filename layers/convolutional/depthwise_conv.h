// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions over 1 or 2 spatial axes.
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

template <int kAxes>
struct DepthwiseConvOptions {
  Size<kAxes> kernel_size = {};  // required
  Size<kAxes> strides = 1;
  std::string padding = "valid";  // or "same"
  int64_t depth_multiplier = 1;   // outputs per input channel
  std::string data_format = {};   // None: "channels_last"; or "channels_first"
  Size<kAxes> dilation_rate = 1;  // incompatible with strides > 1
  cornu::Activation activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.DepthwiseConv1D, DepthwiseConv2D: (batch, spatial…, channels) ->
// (batch, new spatial…, channels * depth_multiplier).
//
// Weights: kernel (*kernel_size, channels, depth_multiplier), bias (channels * depth_multiplier,).
template <int kAxes>
class DepthwiseConv final : public LayerHandle {
 public:
  explicit DepthwiseConv(const DepthwiseConvOptions<kAxes>& options = {});
  static DepthwiseConv from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable kernel() const { return weight("kernel"); }
  Variable bias() const { return weight("bias"); }
};

using DepthwiseConv1DOptions = DepthwiseConvOptions<1>;
using DepthwiseConv2DOptions = DepthwiseConvOptions<2>;
using DepthwiseConv1D = DepthwiseConv<1>;
using DepthwiseConv2D = DepthwiseConv<2>;

}  // namespace cornu::layers
