// SPDX-License-Identifier: Apache-2.0
// The definition of an operation, except for its kernels: what all backends share.
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

// The arguments of a vjp. Gradients of outputs that nothing depends on are undefined tensors; at
// least one is defined.
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

// Shapes and dtypes of the outputs. The ops:: functions have checked their inputs; inference still
// throws InvalidArgument for inputs that don't fit, since graphs may come from files.
using InferFunction =
    std::function<std::vector<TensorType>(std::span<const TensorType>, const Attributes&)>;
// Gradients for the inputs, written in ops; undefined where none is needed or it is zero.
using VjpFunction = std::function<std::vector<Tensor>(const VjpContext&)>;

struct OpTraits {
  bool elementwise = false;    // each output element depends on one element per input (broadcast)
  bool commutative = false;    // of two inputs
  bool differentiable = true;  // false: gradients stop here (comparisons, argmax, …)
  bool collective = false;     // communicates: never removed, duplicated or reordered
  bool checks_values = false;  // throws for some values of its inputs (labels, indices)
  bool has_effect = false;     // must run even when nothing reads its outputs (print, assert)
  bool view = false;           // its output is its input's memory, with another shape
  // What it does with strings, eagerly and on the host: outputs consist of elements of its inputs
  // whatever these are, or tell whether elements are the same (graph/string_ops.h).
  enum class Strings { Refused, Moved, Compared };
  Strings strings = Strings::Refused;
  // Runs the graphs among its attributes: a node communicates, checks values and has effects where
  // their nodes do (Node::traits).
  bool runs_graphs = false;
  // Passes make it of others: it checks nothing, and no graph that comes from elsewhere has it.
  bool of_passes = false;
};

// The implementation of a composite op in other ops. Only functional models keep such an op as a
// node: elsewhere it is expanded when applied, so no backend sees it.
using ExpandFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Attributes&)>;

struct OpDef {
  std::string name;
  InferFunction infer;
  VjpFunction vjp;  // empty with traits.differentiable: Unimplemented when requested
  OpTraits traits;
  ExpandFunction expand = {};
};

// All operations by name. Thread-safe; definitions never move. A vjp must be set before the first
// tape uses it.
class OpRegistry {
 public:
  static OpRegistry& global();  // filled by register_builtins on first use

  // AlreadyExists when the name is taken.
  const OpDef& add(OpDef op);
  // InvalidArgument with the nearest known name.
  const OpDef& at(std::string_view name) const;
  const OpDef* find(std::string_view name) const;
  std::vector<std::string> names() const;
  // Sets the vjp of an op defined earlier (for vjps that need more than ops, as those of control
  // flow).
  void set_vjp(std::string_view name, VjpFunction vjp);

 private:
  struct Impl;
  OpRegistry();
  Impl* impl_;  // never destroyed: ops may run in static destructors
};

// The ops of this build; defined by framework/registration.
void register_builtins(OpRegistry& registry);

}  // namespace cornu
