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
  int64_t units = 0;  // required, > 0
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
  double dropout = 0;            // for the input; one mask for all steps
  double recurrent_dropout = 0;  // for the state; one mask for all steps
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.SimpleRNNCell: a single step, h' = activation(x kernel + h recurrent_kernel + bias).
//
// {(batch, features), (batch, units)} -> {output, h'}, which are equal, (batch, units).
// Weights: kernel (features, units), recurrent_kernel (units, units), bias (units).
class SimpleRNNCell final : public LayerHandle {
 public:
  explicit SimpleRNNCell(const SimpleRNNCellOptions& options = {});
  static SimpleRNNCell from_config(const Json& config);
};

struct SimpleRNNOptions {
  int64_t units = 0;  // required, > 0
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
  double dropout = 0;             // for the input; one mask for all steps
  double recurrent_dropout = 0;   // for the state; one mask for all steps
  bool return_sequences = false;  // return the outputs of all steps, not only the last
  bool return_state = false;      // also return the final states
  bool go_backwards = false;      // process steps in reverse; outputs are in that order
  bool stateful = false;          // each call continues from the states of the last one, by row
  bool unroll = false;            // unroll the loop in the compiled program
  std::optional<int64_t> seed = {};
  bool zero_output_for_mask = false;  // output zeros at masked steps, not the previous output
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.SimpleRNN: a fully connected recurrent layer.
//
// (batch, time, features) -> (batch, units), or with return_sequences (batch, time, units). An
// optional second argument is the initial state, {{"sequences", x}, {"initial_state", h}}, or {x,
// h}. Masked steps leave the states unchanged. When traced, the loop is a single node. Throws
// InvalidArgument for a different number of axes or features and, in a stateful layer, for a batch
// size other than the one it was built with.
//
// Weights: those of its cell. Returns {output, h} with return_state.
class SimpleRNN final : public LayerHandle {
 public:
  explicit SimpleRNN(const SimpleRNNOptions& options = {});
  static SimpleRNN from_config(const Json& config);
  // Zeros the states of a stateful layer. Throws FailedPrecondition if the layer isn't stateful or
  // isn't built.
  void reset_state() const;
  // The states of a stateful layer, with which the next call starts; empty before it is built.
  std::vector<Variable> states() const;
};

}  // namespace cornu::layers
