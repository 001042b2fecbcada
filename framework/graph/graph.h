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
  std::string scope;  // the layer that made it, for messages and profiles; may be empty
  // Of traced graphs: whether it is part of an optimizer's update, or what an assign_add or an
  // assign_sub adds to a variable: what may be computed where that is kept. Others are told by who
  // divides a step. Not in the text.
  bool updates = false;
  // Of traced graphs, too: the RematRegion that it was made in (0: none), and whether a tape made
  // it for a gradient. What passes::rematerialize goes by.
  int64_t region = 0;
  bool of_gradient = false;

  bool is(std::string_view name) const { return op->name == name; }
  // The traits of the op and of the graphs that it runs (branches of a cond, bodies of loops).
  OpTraits traits() const;
};

// A variable in a graph: its value at the start and at the end of a run (the same id where the
// graph only reads it).
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
  // Appends a node, with types from `op.infer` unless they are given.
  std::vector<ValueId> add_node(const OpDef& op, std::vector<ValueId> node_inputs,
                                Attributes attributes = {});
  const TensorType& type(ValueId id) const { return types[static_cast<size_t>(id)]; }

  // By value: the index of the node that produces it, or -1.
  std::vector<int32_t> producers() const;
  // By value: how many node inputs, graph outputs and state ends read it.
  std::vector<int32_t> use_counts() const;

  // Internal, naming the node, for undefined ids, a wrong order, or a type that differs from what
  // infer returns.
  void validate() const;

  // The text form (see parse_graph); parsing it gives an equal graph.
  std::string to_string() const;
  // The same, where tensors of more than `largest` bytes, in bodies, too, are appended to `apart`.
  std::string to_string(size_t largest, std::vector<Tensor>& apart) const;
};

// Reads the text form:
//   graph(%0: float32[2,3]) state(%1 "w": float32[3] -> %3) {
//     %2 = multiply(%0, %1) : float32[2,3]
//     %3 = sum(%2) {axes=[0], keepdims=false} : float32[3]
//     return %2
//   }
// InvalidArgument with the line number when it can't be read. Large constants are written as hex,
// or as their numbers among those that are kept apart: <float32[512,512] #0>.
Graph parse_graph(std::string_view text, std::span<const Tensor> apart = {});

}  // namespace cornu
