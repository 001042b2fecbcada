// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/model/layer.h"
#include "layers/rnn/rnn_cell.h"

namespace cornu::layers {

struct RNNOptions {
  bool return_sequences = false;  // the outputs of all steps, in place of the last one's
  bool return_state = false;      // the states after the last step, too
  bool go_backwards = false;      // from the last step to the first; outputs in that order
  bool stateful = false;  // a call begins with the states that the last one left, row by row
  bool unroll = false;    // all steps written out in the compiled program
  bool zero_output_for_mask = false;  // zeros at masked steps, in place of the output before
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.RNN: a recurrent layer around any cell, or around several, stacked
// (StackedRNNCells).
//
//   layers::RNN rnn(layers::LSTMCell({.units = 32}), {.return_sequences = true});
//   layers::RNN stacked({layers::GRUCell({.units = 32}), layers::GRUCell({.units = 8})});
//
// (batch, time, …) -> (batch, output_size), or with return_sequences (batch, time, output_size).
// More arguments are the states to begin with. Masked steps leave states as they were. Traced, the
// loop is one node. InvalidArgument for a layer that is no RNNCell.
// Weights: its cell's.
class RNN : public LayerHandle {
 public:
  explicit RNN(const LayerHandle& cell, const RNNOptions& options = {});
  explicit RNN(const std::vector<LayerHandle>& cells, const RNNOptions& options = {});
  static RNN from_config(const Json& config);
  // Zeros the states of a stateful layer. FailedPrecondition for one that isn't, or isn't built.
  void reset_state() const;
  // The states of a stateful layer, which the next call begins with; none before it is built.
  std::vector<Variable> states() const;
};

struct StackedRNNCellsOptions {
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.StackedRNNCells: cells one behind the other, as one cell. Its states are theirs, in
// order; its output is the last one's.
class StackedRNNCells : public LayerHandle {
 public:
  explicit StackedRNNCells(const std::vector<LayerHandle>& cells,
                           const StackedRNNCellsOptions& options = {});
  static StackedRNNCells from_config(const Json& config);
};

}  // namespace cornu::layers
