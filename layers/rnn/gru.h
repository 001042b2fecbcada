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
  int64_t units = 0;  // required, > 0
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
  double dropout = 0;            // for the input; one mask for all steps
  double recurrent_dropout = 0;  // for the state; one mask for all steps
  bool reset_after = true;       // apply the reset gate after the recurrent product
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GRUCell: a single step of a gated recurrent unit (Cho et al. 2014): h' = z h + (1 -
// z) g, where z, r = recurrent_activation(…) of x kernel + h recurrent_kernel + bias, and g =
// activation(…) of the same, with the recurrent product multiplied by r or, if reset_after is
// false, h multiplied by r before the product.
//
// {(batch, features), h} -> {output, h'}, all (batch, units); the output is h'.
// Weights: kernel (features, 3 units), recurrent_kernel (units, 3 units), bias (2, 3 units), for
// the input and the recurrent product, or (3 units) without reset_after; columns are ordered z, r,
// g.
class GRUCell final : public LayerHandle {
 public:
  explicit GRUCell(const GRUCellOptions& options = {});
  static GRUCell from_config(const Json& config);
};

struct GRUOptions {
  int64_t units = 0;  // required, > 0
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
  double dropout = 0;            // for the input; one mask for all steps
  double recurrent_dropout = 0;  // for the state; one mask for all steps
  std::optional<int64_t> seed = {};
  bool return_sequences = false;      // return the outputs of all steps, not only the last
  bool return_state = false;          // also return the final states
  bool go_backwards = false;          // process steps in reverse; outputs are in that order
  bool stateful = false;              // each call continues from the states of the last one, by row
  bool unroll = false;                // unroll the loop in the compiled program
  bool reset_after = true;            // apply the reset gate after the recurrent product
  bool zero_output_for_mask = false;  // output zeros at masked steps, not the previous output
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GRU: a gated recurrent unit (Cho et al. 2014).
//
// (batch, time, features) -> (batch, units), or with return_sequences (batch, time, units). An
// optional second argument is the initial state, {{"sequences", x}, {"initial_state", h}}, or {x,
// h}. Masked steps leave the states unchanged. When traced, the loop is a single node. Throws
// InvalidArgument for a different number of axes or features and, in a stateful layer, for a batch
// size other than the one it was built with.
//
// Weights: those of its cell. Returns {output, h} with return_state.
class GRU final : public LayerHandle {
 public:
  explicit GRU(const GRUOptions& options = {});
  static GRU from_config(const Json& config);
  // Zeros the states of a stateful layer. Throws FailedPrecondition if the layer isn't stateful or
  // isn't built.
  void reset_state() const;
  // The states of a stateful layer, with which the next call starts; empty before it is built.
  std::vector<Variable> states() const;
};

}  // namespace cornu::layers
