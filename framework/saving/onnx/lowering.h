// SPDX-License-Identifier: Apache-2.0
// Converts a traced graph to the form that is written: variables become constants, ops that ONNX
// lacks or has in another layout are decomposed, and the cleanup passes are run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// Names of constants in the file, by Tensor::id, along with references that keep them alive.
// Weights are named by their Keras paths, even if reshaped or transposed. Shared by all traces of a
// model, so that its weights are stored once.
class NamedConstants {
 public:
  // Returns a variable's value, which is read once and named by its path.
  Tensor of(const Variable& variable);
  // "" if it has no name.
  const std::string& name_of(const Tensor& value) const;
  // Computes the single output of `op` for these inputs on the host. The result takes the name of
  // the first input that has one, and is cached if all inputs have names.
  Tensor derived(const OpDef& op, const std::vector<Tensor>& inputs, const Attributes& attributes);
  // Computes the outputs of `op` on the host, and remembers what they were computed from.
  std::vector<Tensor> computed(const OpDef& op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes);

  // The op and the constants that a constant was computed from, as its only output.
  struct Origin {
    const OpDef* op = nullptr;
    std::vector<Tensor> inputs;
    Attributes attributes;
    Tensor value;
  };
  // Null for a constant that wasn't computed.
  const Origin* origin_of(const Tensor& value) const;

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
  std::map<const void*, Origin> origins_;
};

// Returns `graph` without states. Throws Unimplemented, naming the variable, if running it would
// change one.
Graph lowered(const Graph& graph, NamedConstants& constants);

// ---- internal ops on tensors whose second axis is the channels ----

// Counterparts of "conv", "max_pool" and "avg_pool", with the same attributes and kernels.
const OpDef& channels_second_conv();
const OpDef& channels_second_max_pool();
const OpDef& channels_second_avg_pool();
// Counterpart of "conv_input_grad". Takes the input and the kernel, with "pads" and
// "output_padding" as for ConvTranspose, and "input_shape" (channels second).
const OpDef& channels_second_conv_transpose();

// ---- an internal op: a recurrent layer over all steps, in ONNX's form ----

// Inputs: the sequence (time, batch, features), the kernels W and R, the bias B if "biased", and
// the initial states if it "begins" with nonzero ones, all in ONNX's layout. Attributes: "units",
// the "operator" (LSTM, GRU, RNN), its space-separated "activations", "reset_after" and "reverse".
// Outputs: Y, then the last states.
const OpDef& recurrence_op();

}  // namespace cornu::onnx
