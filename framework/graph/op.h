// SPDX-License-Identifier: Apache-2.0
// The definition of an operation without its kernels: the part that all backends share.
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
  const std::vector<bool>& needed;  // by input: whether its gradient is needed

  const Tensor& in(size_t index) const { return inputs[index]; }
  const Tensor& out(size_t index = 0) const { return outputs[index]; }
  const Tensor& gradient(size_t index = 0) const { return output_gradients[index]; }
};

// Shapes and dtypes of the outputs. The ops:: functions have already checked their inputs;
// inference still throws InvalidArgument for inputs that don't fit, since graphs may come from
// files.
using InferFunction =
    std::function<std::vector<TensorType>(std::span<const TensorType>, const Attributes&)>;
// Gradients of the inputs, computed with ops; undefined if not needed or zero.
using VjpFunction = std::function<std::vector<Tensor>(const VjpContext&)>;

struct OpTraits {
  bool elementwise = false;    // each output element depends on one element per input (broadcast)
  bool commutative = false;    // for ops with two inputs
  bool differentiable = true;  // false: gradients stop here (comparisons, argmax, …)
  bool collective = false;     // communicates: never removed, duplicated or reordered
  bool checks_values = false;  // throws for some values of its inputs (labels, indices)
  bool has_effect = false;     // must run even when nothing reads its outputs (print, assert)
  bool view = false;           // its output shares its input's memory, with another shape
  // How the op handles strings, eagerly and on the host: its outputs consist of elements of its
  // inputs regardless of their values (Moved), or compare elements for equality (Compared)
  // (graph/string_ops.h).
  enum class Strings { Refused, Moved, Compared };
  Strings strings = Strings::Refused;
  // Runs the graphs among its attributes: a node communicates, checks values and has effects if
  // their nodes do (Node::traits).
  bool runs_graphs = false;
  // Created only by passes: it checks nothing, and must not occur in graphs from outside.
  bool of_passes = false;
};

// The implementation of a composite op in terms of other ops. Only functional models keep such an
// op as a node: everywhere else it is expanded when applied, so no backend sees it.
using ExpandFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Attributes&)>;

struct OpDef {
  std::string name;
  InferFunction infer;
  VjpFunction vjp;  // if empty with traits.differentiable: Unimplemented when requested
  OpTraits traits;
  ExpandFunction expand = {};
};

// All operations by name. Thread-safe; definitions never move. A vjp must be set before the first
// tape uses it.
class OpRegistry {
 public:
  static OpRegistry& global();  // filled by register_builtins on first use

  // Throws AlreadyExists when the name is taken.
  const OpDef& add(OpDef op);
  // Throws InvalidArgument, with the nearest known name, for an unknown name.
  const OpDef& at(std::string_view name) const;
  const OpDef* find(std::string_view name) const;
  std::vector<std::string> names() const;
  // Sets the vjp of a previously defined op (for vjps that need more than ops, like those of
  // control flow).
  void set_vjp(std::string_view name, VjpFunction vjp);

 private:
  struct Impl;
  OpRegistry();
  Impl* impl_;  // never destroyed: ops may run in static destructors
};

// Registers the ops of this build; defined by framework/registration.
void register_builtins(OpRegistry& registry);

}  // namespace cornu
