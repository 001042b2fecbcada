// SPDX-License-Identifier: Apache-2.0
// What an operation is: the part of its definition that every backend shares.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/graph/attributes.h"

namespace cornu {

struct TensorType {
  DType dtype = DType::Float32;
  Shape shape;
  size_t bytes() const { return static_cast<size_t>(shape.num_elements()) * size_of(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

inline TensorType type_of(const Tensor& tensor) { return {tensor.dtype(), tensor.shape()}; }

// What a vjp is given. Gradients of outputs that nothing depends on are undefined tensors; at least
// one is defined.
struct VjpContext {
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& outputs;
  const std::vector<Tensor>& output_gradients;
  const Attributes& attributes;
  const std::vector<bool>& needed;  // by input: is its gradient wanted?

  const Tensor& in(size_t index) const { return inputs[index]; }
  const Tensor& out(size_t index = 0) const { return outputs[index]; }
  const Tensor& gradient(size_t index = 0) const { return output_gradients[index]; }
};

// Shapes and dtypes of the outputs. Inputs have been checked by the ops:: function that makes them;
// inference throws InvalidArgument all the same where inputs don't fit (graphs may come from
// files).
using InferFunction =
    std::function<std::vector<TensorType>(std::span<const TensorType>, const Attributes&)>;
// Gradients for the inputs, written in ops; undefined where none is needed or it is zero.
using VjpFunction = std::function<std::vector<Tensor>(const VjpContext&)>;

struct OpTraits {
  bool elementwise = false;    // each output element depends on one element an input (broadcast)
  bool commutative = false;    // of two inputs
  bool differentiable = true;  // false: gradients stop here (comparisons, argmax, …)
  bool collective = false;     // communicates: never removed, duplicated or reordered
  bool checks_values = false;  // throws for some values of its inputs (labels, indices)
  bool has_effect = false;     // must run even when nothing reads its outputs (print, assert)
  // Runs the graphs among its attributes: a node of it communicates, checks values and has effects
  // where theirs do (Node::traits).
  bool runs_graphs = false;
};

// What an op of several others does, in ops. Such an op is a node of functional models only:
// elsewhere it is expanded when it is applied, so no backend sees it.
using ExpandFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Attributes&)>;

struct OpDef {
  std::string name;
  InferFunction infer;
  VjpFunction vjp;  // empty with traits.differentiable: Unimplemented when asked for
  OpTraits traits;
  ExpandFunction expand = {};
};

// All operations by name. Thread-safe; definitions stay where they are. A vjp is set before the
// first tape asks for it.
class OpRegistry {
 public:
  static OpRegistry& global();  // filled by register_builtins when it is first asked for

  // AlreadyExists when the name is taken.
  const OpDef& add(OpDef op);
  // InvalidArgument with the nearest known name.
  const OpDef& at(std::string_view name) const;
  const OpDef* find(std::string_view name) const;
  std::vector<std::string> names() const;
  // Sets the vjp of an op defined earlier (for vjps that need more than ops, as control flow's).
  void set_vjp(std::string_view name, VjpFunction vjp);

 private:
  struct Impl;
  OpRegistry();
  Impl* impl_;  // never destroyed: ops may run in static destructors
};

// The ops of this build; defined by framework/registration.
void register_builtins(OpRegistry& registry);

}  // namespace cornu
