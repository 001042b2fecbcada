// SPDX-License-Identifier: Apache-2.0
// Convolutional long short-term memories in 1, 2 or 3 spatial axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

template <int kAxes>
struct ConvLSTMOptions {
  int64_t filters = 0;           // must be given, > 0
  Size<kAxes> kernel_size = {};  // must be given
  Size<kAxes> strides = 1;
  std::string padding = "valid";  // of the input, or "same"; that of the state is "same"
  std::string data_format = {};   // None: "channels_last"; or "channels_first"
  Size<kAxes> dilation_rate = 1;  // not together with strides > 1
  cornu::Activation activation = "tanh";
  cornu::Activation recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  bool unit_forget_bias = true;  // the forget gate's bias begins at 1
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            // of the input; one mask a gate for all steps
  double recurrent_dropout = 0;  // of the state; one mask a gate for all steps
  std::optional<int64_t> seed = {};
  bool return_sequences = false;  // the outputs of all steps, in place of the last one's
  bool return_state = false;      // the states after the last step, too
  bool go_backwards = false;      // from the last step to the first; outputs in that order
  bool stateful = false;  // a call begins with the states that the last one left, row by row
  bool unroll = false;    // all steps written out in the compiled program
  bool zero_output_for_mask = false;  // zeros at masked steps, in place of the output before
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: an LSTM whose products are convolutions (Shi et
// al. 2015).
//
// (batch, time, spatial…, channels) -> (batch, new spatial…, filters); with return_sequences
// (batch, time, new spatial…, filters); with return_state h and c behind it, of the first shape.
// Spatial sizes must be known. A second argument: the states to begin with, {h, c}.
// Weights: kernel (*kernel_size, channels, 4 filters), recurrent_kernel (*kernel_size, filters,
// 4 filters), bias (4 filters); the last axis is of the gates i, f, g, o.
template <int kAxes>
class ConvLSTM : public LayerHandle {
 public:
  explicit ConvLSTM(const ConvLSTMOptions<kAxes>& options = {});
  static ConvLSTM from_config(const Json& config);
  // Zeros the states. FailedPrecondition unless the layer is stateful and built.
  void reset_state() const;
};

using ConvLSTM1DOptions = ConvLSTMOptions<1>;
using ConvLSTM2DOptions = ConvLSTMOptions<2>;
using ConvLSTM3DOptions = ConvLSTMOptions<3>;
using ConvLSTM1D = ConvLSTM<1>;
using ConvLSTM2D = ConvLSTM<2>;
using ConvLSTM3D = ConvLSTM<3>;

}  // namespace cornu::layers
