// SPDX-License-Identifier: Apache-2.0
// Brings a traced graph into the form that is written: variables are constants, ops that ONNX has
// in another layout or not at all are made of others, and the passes have cleaned up.
#pragma once

#include <map>
#include <string>

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
  // A value that `op` made of a named one: computed once, and named as that one is.
  Tensor derived(const OpDef& op, const Tensor& value, const Attributes& attributes);

 private:
  struct Named {
    Tensor value;
    std::string name;
  };
  void name(const Tensor& value, const std::string& name);

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

}  // namespace cornu::onnx
