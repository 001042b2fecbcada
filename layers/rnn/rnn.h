// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/model/layer.h"
#include "layers/rnn/rnn_cell.h"

namespace cornu::layers {

struct RNNOptions {
  bool return_sequences = false;      // return the outputs of all steps, not only the last
  bool return_state = false;          // also return the final states
  bool go_backwards = false;          // process steps in reverse; outputs are in that order
  bool stateful = false;              // each call continues from the states of the last one, by row
  bool unroll = false;                // unroll the loop in the compiled program
  bool zero_output_for_mask = false;  // output zeros at masked steps, not the previous output
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.RNN: a recurrent layer around any cell, or around several stacked cells
// (StackedRNNCells).
//
//   layers::RNN rnn(layers::LSTMCell({.units = 32}), {.return_sequences = true});
//   layers::RNN stacked({layers::GRUCell({.units = 32}), layers::GRUCell({.units = 8})});
//
// (batch, time, …) -> (batch, output_size), or with return_sequences (batch, time, output_size).
// Further arguments are the initial states. Masked steps leave the states unchanged. When traced,
// the loop is a single node. Throws InvalidArgument for a layer that isn't an RNNCell.
// Weights: those of its cell.
class RNN final : public LayerHandle {
 public:
  explicit RNN(const LayerHandle& cell, const RNNOptions& options = {});
  explicit RNN(const std::vector<LayerHandle>& cells, const RNNOptions& options = {});
  static RNN from_config(const Json& config);
  // Zeros the states of a stateful layer. Throws FailedPrecondition if the layer isn't stateful or
  // isn't built.
  void reset_state() const;
  // The states of a stateful layer, with which the next call starts; empty before it is built.
  std::vector<Variable> states() const;
};

struct StackedRNNCellsOptions {
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.StackedRNNCells: a stack of cells that acts as a single cell. Its states are those
// of the cells, in order; its output is that of the last cell.
class StackedRNNCells final : public LayerHandle {
 public:
  explicit StackedRNNCells(const std::vector<LayerHandle>& cells,
                           const StackedRNNCellsOptions& options = {});
  static StackedRNNCells from_config(const Json& config);
};

}  // namespace cornu::layers
