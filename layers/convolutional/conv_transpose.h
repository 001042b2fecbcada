// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions ("deconvolutions") over 1, 2 or 3 spatial axes.
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

template <int kAxes>
struct ConvTransposeOptions {
  int64_t filters = 0;           // required, > 0
  Size<kAxes> kernel_size = {};  // required
  Size<kAxes> strides = 1;
  std::string padding = "valid";    // or "same"
  Size<kAxes> output_padding = {};  // added to the output; < strides
  std::string data_format = {};     // None: "channels_last"; or "channels_first"
  Size<kAxes> dilation_rate = 1;    // incompatible with strides > 1
  cornu::Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Conv1DTranspose, Conv2DTranspose, Conv3DTranspose: maps the output shape of a
// convolution back to its input shape. (batch, spatial…, channels) -> (batch, new spatial…,
// filters), where spatial axes are multiplied by the strides with "same", and become larger than
// that with "valid".
//
// Weights: kernel (*kernel_size, filters, channels), bias (filters,).
template <int kAxes>
class ConvTranspose final : public LayerHandle {
 public:
  explicit ConvTranspose(const ConvTransposeOptions<kAxes>& options = {});
  static ConvTranspose from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable kernel() const { return weight("kernel"); }
  Variable bias() const { return weight("bias"); }
};

using Conv1DTransposeOptions = ConvTransposeOptions<1>;
using Conv2DTransposeOptions = ConvTransposeOptions<2>;
using Conv3DTransposeOptions = ConvTransposeOptions<3>;
using Conv1DTranspose = ConvTranspose<1>;
using Conv2DTranspose = ConvTranspose<2>;
using Conv3DTranspose = ConvTranspose<3>;
using Convolution1DTranspose = Conv1DTranspose;
using Convolution2DTranspose = Conv2DTranspose;
using Convolution3DTranspose = Conv3DTranspose;

}  // namespace cornu::layers
