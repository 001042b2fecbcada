// SPDX-License-Identifier: Apache-2.0
// The graph: a traced computation in static single assignment form.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/variable.h"
#include "framework/graph/op.h"

namespace cornu {

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;

// One application of an op. Constants are nodes of the op "constant" (attribute "value").
struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::string scope;  // the layer that created it, for messages and profiles; may be empty
  // In traced graphs: whether the node is part of an optimizer's update, or the addition of an
  // assign_add or assign_sub, either of which may be computed where the variable is kept. Code that
  // divides a step marks further nodes. Not part of the text form.
  bool updates = false;
  // Also in traced graphs: the RematRegion the node was created in (0: none), and whether a tape
  // created it for a gradient. Used by passes::rematerialize.
  int64_t region = 0;
  bool of_gradient = false;

  bool is(std::string_view name) const { return op->name == name; }
  // The traits of the op and of the graphs that it runs (branches of a cond, bodies of loops).
  OpTraits traits() const;
};

// A variable in a graph: its value at the start and at the end of a run (the same id if the graph
// only reads it).
struct StateBinding {
  Variable variable;  // undefined in graphs that were read from text
  std::string name;
  ValueId in = kNoValue;
  ValueId out = kNoValue;
};

// Nodes are in topological order. Every value is a graph input, a state's start value or a node's
// output. Ids index `types`; passes may leave ids unused.
class Graph {
 public:
  std::vector<TensorType> types;  // by ValueId
  std::vector<ValueId> inputs;
  std::vector<StateBinding> states;
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;

  ValueId add_value(TensorType type);
  // Appends a node whose output types come from `op.infer`.
  std::vector<ValueId> add_node(const OpDef& op, std::vector<ValueId> node_inputs,
                                Attributes attributes = {});
  const TensorType& type(ValueId id) const { return types[static_cast<size_t>(id)]; }

  // By value: the index of the node that produces it, or -1.
  std::vector<int32_t> producers() const;
  // By value: the number of node inputs, graph outputs and state ends that read it.
  std::vector<int32_t> use_counts() const;

  // Throws Internal, naming the node, for undefined ids, a wrong order, or a type that differs from
  // what infer returns.
  void validate() const;

  // The text form (see parse_graph); parsing it returns an equal graph.
  std::string to_string() const;
  // Overload that appends tensors of more than `largest` bytes, including those in bodies, to
  // `apart`.
  std::string to_string(size_t largest, std::vector<Tensor>& apart) const;
};

// Reads the text form:
//   graph(%0: float32[2,3]) state(%1 "w": float32[3] -> %3) {
//     %2 = multiply(%0, %1) : float32[2,3]
//     %3 = sum(%2) {axes=[0], keepdims=false} : float32[3]
//     return %2
//   }
// Throws InvalidArgument with the line number when the text is invalid. Large constants are written
// as hex, or, if stored separately, as their index in `apart`: <float32[512,512] #0>.
Graph parse_graph(std::string_view text, std::span<const Tensor> apart = {});

}  // namespace cornu
