// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/layer.h"
#include "layers/rnn/rnn_cell.h"

namespace cornu::layers {

struct LSTMCellOptions {
  int64_t units = 0;  // required, > 0
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
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            // for the input; one mask for all steps
  double recurrent_dropout = 0;  // for the state; one mask for all steps
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.LSTMCell: a single step of a long short-term memory (Hochreiter and Schmidhuber
// 1997) with a forget gate: c' = f c + i g, h' = o activation(c'), where i, f, o =
// recurrent_activation(…) and g = activation(…) of x kernel + h recurrent_kernel + bias.
//
// {(batch, features), h, c} -> {output, h', c'}, all (batch, units); the output is h'.
// Weights: kernel (features, 4 units), recurrent_kernel (units, 4 units), bias (4 units); columns
// are ordered i, f, g, o.
class LSTMCell final : public LayerHandle {
 public:
  explicit LSTMCell(const LSTMCellOptions& options = {});
  static LSTMCell from_config(const Json& config);
};

struct LSTMOptions {
  int64_t units = 0;  // required, > 0
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
  double dropout = 0;            // for the input; one mask for all steps
  double recurrent_dropout = 0;  // for the state; one mask for all steps
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

// keras.layers.LSTM: a long short-term memory (Hochreiter and Schmidhuber 1997).
//
// (batch, time, features) -> (batch, units), or with return_sequences (batch, time, units). An
// optional second argument is the initial state, {{"sequences", x}, {"initial_state", h},
// {"initial_state", c}}, or {x, h, c}. Masked steps leave the states unchanged. When traced, the
// loop is a single node. Throws InvalidArgument for a different number of axes or features and, in
// a stateful layer, for a batch size other than the one it was built with.
//
// Weights: those of its cell. Returns {output, h, c} with return_state.
class LSTM final : public LayerHandle {
 public:
  explicit LSTM(const LSTMOptions& options = {});
  static LSTM from_config(const Json& config);
  // Zeros the states of a stateful layer. Throws FailedPrecondition if the layer isn't stateful or
  // isn't built.
  void reset_state() const;
  // The states of a stateful layer, with which the next call starts; empty before it is built.
  std::vector<Variable> states() const;
};

}  // namespace cornu::layers
