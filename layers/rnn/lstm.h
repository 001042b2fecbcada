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
  int64_t units = 0;  // must be given, > 0
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
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;            // of the input; one mask for all steps
  double recurrent_dropout = 0;  // of the state; one mask for all steps
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.LSTMCell: a step of a long short-term memory (Hochreiter and Schmidhuber 1997), with
// a forget gate: c' = f c + i g, h' = o activation(c'), where i, f, o = recurrent_activation(…) and
// g = activation(…) of x kernel + h recurrent_kernel + bias.
//
// {(batch, features), h, c} -> {output, h', c'}, all (batch, units); the output is h'.
// Weights: kernel (features, 4 units), recurrent_kernel (units, 4 units), bias (4 units); columns
// of i, f, g, o.
class LSTMCell : public LayerHandle {
 public:
  explicit LSTMCell(const LSTMCellOptions& options = {});
  static LSTMCell from_config(const Json& config);
};

struct LSTMOptions {
  int64_t units = 0;  // must be given, > 0
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
  double dropout = 0;            // of the input; one mask for all steps
  double recurrent_dropout = 0;  // of the state; one mask for all steps
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

// keras.layers.LSTM: a long short-term memory (Hochreiter and Schmidhuber 1997).
//
// (batch, time, features) -> (batch, units), or with return_sequences (batch, time, units). A
// second argument is the state to begin with, {{"sequences", x}, {"initial_state", h},
// {"initial_state", c}}, or {x, h, c}. Masked steps leave states as they were. Traced, the loop is
// one node. InvalidArgument for another number of axes or features, and in a stateful layer for
// another batch size than it was built with.
//
// Weights: its cell's; gives {output, h, c} with return_state.
class LSTM : public LayerHandle {
 public:
  explicit LSTM(const LSTMOptions& options = {});
  static LSTM from_config(const Json& config);
  // Zeros the states of a stateful layer. FailedPrecondition for one that isn't, or isn't built.
  void reset_state() const;
  // The states of a stateful layer, which the next call begins with; none before it is built.
  std::vector<Variable> states() const;
};

}  // namespace cornu::layers
