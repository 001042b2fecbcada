// SPDX-License-Identifier: Apache-2.0
// Convolutions over 1, 2 or 3 spatial axes, channels-last.
#pragma once

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

struct ConvOptions {
  Sizes strides = 1;
  Padding padding = "valid";
  Sizes dilation_rate = 1;
};

struct ConvTransposeOptions {
  Sizes strides = 1;
  Padding padding = "valid";  // "valid" or "same"
  Sizes output_padding = {};  // None: such that "same" gives input size * stride
  Sizes dilation_rate = 1;
};

// inputs (batch, spatial..., channels), kernel (spatial..., channels / groups, filters) ->
// (batch, new spatial..., filters). The number of groups is determined by the kernel: channels /
// kernel.shape[-2].
Tensor conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options = {});

// kernel (spatial..., channels, depth_multiplier) -> (batch, new spatial...,
// channels * depth_multiplier).
Tensor depthwise_conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options = {});

// depthwise_conv with depthwise_kernel, followed by a 1x1 convolution with pointwise_kernel (1...,
// channels * depth_multiplier, filters).
Tensor separable_conv(const Tensor& inputs, const Tensor& depthwise_kernel,
                      const Tensor& pointwise_kernel, const ConvOptions& options = {});

// Transposed convolution ("deconvolution"); kernel (spatial..., filters, channels). All axes of
// `inputs` must be known.
Tensor conv_transpose(const Tensor& inputs, const Tensor& kernel,
                      const ConvTransposeOptions& options = {});

}  // namespace cornu::ops
