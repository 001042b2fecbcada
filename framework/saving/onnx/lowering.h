// SPDX-License-Identifier: Apache-2.0
// Brings a traced graph into the form that is written: variables are constants, ops that ONNX has
// in another layout or not at all are made of others, and the passes have cleaned up.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// The names that constants have in the file, by Tensor::id, and what keeps them alive: weights go
// by their Keras paths, also where they were reshaped or transposed. The same for all traces of a
// model, so that its weights are kept once.
class NamedConstants {
 public:
  // A variable's value, read once, with its path as name.
  Tensor of(const Variable& variable);
  // None: "".
  const std::string& name_of(const Tensor& value) const;
  // What `op`, of one output, makes of these on the host: named as the first of them that has a
  // name, and computed once where all of them have.
  Tensor derived(const OpDef& op, const std::vector<Tensor>& inputs, const Attributes& attributes);

 private:
  struct Named {
    Tensor value;
    std::string name;
  };
  void name(const Tensor& value, const std::string& name);
  std::string key(const OpDef& op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes) const;

  std::map<const void*, Tensor> values_;  // of variables, by id
  std::map<const void*, Named> names_;
  std::map<std::string, Tensor> derived_;
};

// `graph` without states. Unimplemented, naming the variable, where running it would change one.
Graph lowered(const Graph& graph, NamedConstants& constants);

// ---- ops that only exist here, of tensors whose channels come second ----

// Those of "conv", "max_pool" and "avg_pool", with their attributes; kernels are as they were.
const OpDef& channels_second_conv();
const OpDef& channels_second_max_pool();
const OpDef& channels_second_avg_pool();
// Of "conv_input_grad": the input and the kernel, "pads" and "output_padding" as ConvTranspose has
// them, and "input_shape" (channels second).
const OpDef& channels_second_conv_transpose();

// ---- an op that only exists here: a recurrent layer over all steps, as ONNX has it ----

// Of an input (time, batch, features), the kernels W and R, the bias B where it is "biased", and
// the initial states where it "begins" with others than zeros, in ONNX's layout, and "units", the
// "operator" (LSTM, GRU, RNN), its "activations" with blanks between, "reset_after" and "reverse":
// Y, then the last states.
const OpDef& recurrence_op();

}  // namespace cornu::onnx
