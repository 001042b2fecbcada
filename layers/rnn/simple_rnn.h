// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/layer.h"
#include "layers/rnn/rnn_cell.h"

namespace cornu::layers {

struct SimpleRNNCellOptions {
  int64_t units = 0;  // must be given, > 0
  cornu::Activation activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
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

// keras.layers.SimpleRNNCell: h' = activation(x kernel + h recurrent_kernel + bias), a step.
//
// {(batch, features), (batch, units)} -> {output, h'}, both (batch, units) and the same.
// Weights: kernel (features, units), recurrent_kernel (units, units), bias (units).
class SimpleRNNCell : public LayerHandle {
 public:
  explicit SimpleRNNCell(const SimpleRNNCellOptions& options = {});
  static SimpleRNNCell from_config(const Json& config);
};

struct SimpleRNNOptions {
  int64_t units = 0;  // must be given, > 0
  cornu::Activation activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer recurrent_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint recurrent_constraint = {};
  Constraint bias_constraint = {};
  double dropout = 0;             // of the input; one mask for all steps
  double recurrent_dropout = 0;   // of the state; one mask for all steps
  bool return_sequences = false;  // the outputs of all steps, in place of the last one's
  bool return_state = false;      // the states after the last step, too
  bool go_backwards = false;      // from the last step to the first; outputs in that order
  bool stateful = false;  // a call begins with the states that the last one left, row by row
  bool unroll = false;    // all steps written out in the compiled program
  std::optional<int64_t> seed = {};
  bool zero_output_for_mask = false;  // zeros at masked steps, in place of the output before
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.SimpleRNN: a fully connected recurrent layer.
//
// (batch, time, features) -> (batch, units), or with return_sequences (batch, time, units). A
// second argument is the state to begin with, {{"sequences", x}, {"initial_state", h}}, or {x, h}.
// Masked steps leave states as they were. Traced, the loop is one node. InvalidArgument for another
// number of axes or features, and in a stateful layer for another batch size than it was built
// with.
//
// Weights: its cell's; gives {output, h} with return_state.
class SimpleRNN : public LayerHandle {
 public:
  explicit SimpleRNN(const SimpleRNNOptions& options = {});
  static SimpleRNN from_config(const Json& config);
  // Zeros the states of a stateful layer. FailedPrecondition for one that isn't, or isn't built.
  void reset_state() const;
  // The states of a stateful layer, which the next call begins with; none before it is built.
  std::vector<Variable> states() const;
};

}  // namespace cornu::layers
