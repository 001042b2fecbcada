// SPDX-License-Identifier: Apache-2.0
// Convolutional long short-term memories over 1, 2 or 3 spatial axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

template <int kAxes>
struct ConvLSTMOptions {
  int64_t filters = 0;           // required, > 0
  Size<kAxes> kernel_size = {};  // required
  Size<kAxes> strides = 1;
  std::string padding = "valid";  // for the input; or "same", which the state always has
  std::string data_format = {};   // None: "channels_last"; or "channels_first"
  Size<kAxes> dilation_rate = 1;  // incompatible with strides > 1
  cornu::Activation activation = "tanh";
  cornu::Activation recurrent_activation = "sigmoid";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  bool unit_forget_bias = true;  // initialize the forget gate's bias to 1
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            // for the input; one mask per gate for all steps
  double recurrent_dropout = 0;  // for the state; one mask per gate for all steps
  std::optional<int64_t> seed = {};
  bool return_sequences = false;      // return the outputs of all steps, not only the last
  bool return_state = false;          // also return the final states
  bool go_backwards = false;          // process steps in reverse; outputs are in that order
  bool stateful = false;              // each call continues from the states of the last one, by row
  bool unroll = false;                // unroll the loop in the compiled program
  bool zero_output_for_mask = false;  // output zeros at masked steps, not the previous output
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ConvLSTM1D, ConvLSTM2D, ConvLSTM3D: an LSTM with convolutions instead of matrix
// products (Shi et al. 2015).
//
// (batch, time, spatial…, channels) -> (batch, new spatial…, filters); with return_sequences
// (batch, time, new spatial…, filters); with return_state followed by h and c, of the first shape.
// Spatial sizes must be known. The optional second argument is the initial states, {h, c}.
// Weights: kernel (*kernel_size, channels, 4 filters), recurrent_kernel (*kernel_size, filters, 4
// filters), bias (4 filters); the last axis has the gates i, f, g, o.
template <int kAxes>
class ConvLSTM final : public LayerHandle {
 public:
  explicit ConvLSTM(const ConvLSTMOptions<kAxes>& options = {});
  static ConvLSTM from_config(const Json& config);
  // Zeros the states. Throws FailedPrecondition unless the layer is stateful and built.
  void reset_state() const;
};

using ConvLSTM1DOptions = ConvLSTMOptions<1>;
using ConvLSTM2DOptions = ConvLSTMOptions<2>;
using ConvLSTM3DOptions = ConvLSTMOptions<3>;
using ConvLSTM1D = ConvLSTM<1>;
using ConvLSTM2D = ConvLSTM<2>;
using ConvLSTM3D = ConvLSTM<3>;

}  // namespace cornu::layers
