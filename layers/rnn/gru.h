// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/layer.h"
#include "layers/rnn/rnn_cell.h"

namespace cornu::layers {

struct GRUCellOptions {
  int64_t units = 0;  // must be given, > 0
  cornu::Activation activation = "tanh";
  cornu::Activation recurrent_activation = "sigmoid";
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
  bool reset_after = true;       // the reset gate works behind the recurrent product
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GRUCell: a step of a gated recurrent unit (Cho et al. 2014): h' = z h + (1 - z) g,
// where z, r = recurrent_activation(…) of x kernel + h recurrent_kernel + bias, and g =
// activation(…) of the same with r times the recurrent product, or with r times h before it
// (reset_after = false).
//
// {(batch, features), h} -> {output, h'}, all (batch, units); the output is h'.
// Weights: kernel (features, 3 units), recurrent_kernel (units, 3 units), bias (2, 3 units), the
// input's and the recurrent one, or (3 units) without reset_after; columns of z, r, g.
class GRUCell : public LayerHandle {
 public:
  explicit GRUCell(const GRUCellOptions& options = {});
  static GRUCell from_config(const Json& config);
};

struct GRUOptions {
  int64_t units = 0;  // must be given, > 0
  cornu::Activation activation = "tanh";
  cornu::Activation recurrent_activation = "sigmoid";
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
  double dropout = 0;            // of the input; one mask for all steps
  double recurrent_dropout = 0;  // of the state; one mask for all steps
  std::optional<int64_t> seed = {};
  bool return_sequences = false;  // the outputs of all steps, in place of the last one's
  bool return_state = false;      // the states after the last step, too
  bool go_backwards = false;      // from the last step to the first; outputs in that order
  bool stateful = false;    // a call begins with the states that the last one left, row by row
  bool unroll = false;      // all steps written out in the compiled program
  bool reset_after = true;  // the reset gate works behind the recurrent product
  bool zero_output_for_mask = false;  // zeros at masked steps, in place of the output before
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GRU: a gated recurrent unit (Cho et al. 2014).
//
// (batch, time, features) -> (batch, units), or with return_sequences (batch, time, units). A
// second argument is the state to begin with, {{"sequences", x}, {"initial_state", h}}, or {x, h}.
// Masked steps leave states as they were. Traced, the loop is one node. InvalidArgument for another
// number of axes or features, and in a stateful layer for another batch size than it was built
// with.
//
// Weights: its cell's; gives {output, h} with return_state.
class GRU : public LayerHandle {
 public:
  explicit GRU(const GRUOptions& options = {});
  static GRU from_config(const Json& config);
  // Zeros the states of a stateful layer. FailedPrecondition for one that isn't, or isn't built.
  void reset_state() const;
  // The states of a stateful layer, which the next call begins with; none before it is built.
  std::vector<Variable> states() const;
};

}  // namespace cornu::layers
