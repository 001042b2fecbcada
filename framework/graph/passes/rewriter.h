// SPDX-License-Identifier: Apache-2.0
// A graph while a pass rewrites it: who makes and who reads each value is known at any moment.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::passes {

// Nodes have numbers: those of the graph come first, in order; those that are added follow. Each
// change costs as much as the nodes it touches have operands, whatever the graph's size.
// References to nodes stay valid, also to removed ones.
class Rewriter {
 public:
  explicit Rewriter(Graph graph);

  int size() const { return static_cast<int>(nodes_.size()); }  // those removed included
  const Node& node(int index) const { return nodes_[static_cast<size_t>(index)]; }
  bool removed(int index) const { return removed_[static_cast<size_t>(index)]; }
  // The numbers of the nodes there are, as they stand in the graph.
  std::vector<int> order() const;

  const TensorType& type(ValueId id) const { return graph_.type(id); }
  const Shape& shape(ValueId id) const { return type(id).shape; }

  // The node that makes a value; null when it is an input or a state, or another op makes it.
  const Node* maker(ValueId id) const;
  const Node* maker(ValueId id, std::string_view op) const;
  // The nodes that read a value, each once, as they stand in the graph.
  std::vector<int> readers(ValueId id) const;
  // How many operands, graph outputs and ends of states are this value.
  int uses(ValueId id) const { return uses_[static_cast<size_t>(id)]; }
  // Is it an output of the graph, or the end of a state?
  bool leaves(ValueId id) const { return leaving_[static_cast<size_t>(id)] > 0; }

  ValueId add_value(TensorType type);
  // Adds a node right before node `place`, whose scope it gets; the second form infers its outputs.
  int insert(int place, Node node);
  std::vector<ValueId> insert(int place, const OpDef& op, std::vector<ValueId> inputs,
                              Attributes attributes);
  void set_inputs(int index, std::vector<ValueId> inputs);
  void set_attributes(int index, Attributes attributes);
  // Whoever uses `old_id` uses `new_id` from now on.
  void replace(ValueId old_id, ValueId new_id);
  void remove(int index);
  // Removes the node that makes `id` if nothing uses its outputs, then what that leaves unused.
  // Collectives and nodes with an effect stay.
  void remove_unused(ValueId id);

  // The rewritten graph. A node whose operands ended up behind it moves them before itself; what
  // nothing depends on is gone. The rewriter is used up.
  Graph finish();

 private:
  size_t place_of(int index) const { return place_[static_cast<size_t>(index)]; }
  void use(int index);
  void index_node(int index);
  void count_uses(int index, int by);

  Graph graph_;  // without nodes
  std::deque<Node> nodes_;
  size_t given_;  // nodes of the graph at first
  std::vector<size_t> place_;
  std::vector<bool> removed_;
  std::vector<int> maker_;                 // by value; -1: none
  std::vector<std::vector<int>> readers_;  // by value; may hold some that read it no more
  std::vector<int> uses_;                  // by value
  std::vector<int> leaving_;               // by value: as outputs and ends of states
  std::vector<ValueId> replacement_;       // by value, for outputs and ends of states
};

}  // namespace cornu::passes
