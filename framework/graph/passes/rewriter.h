// SPDX-License-Identifier: Apache-2.0
// A graph that a pass rewrites; the producer and readers of each value are always known.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::passes {

// Nodes are numbered: those of the original graph first, in order, then added ones. The cost of a
// change is proportional to the number of operands of the nodes it touches, regardless of the
// graph's size. References to nodes stay valid, even to removed ones.
class Rewriter {
 public:
  explicit Rewriter(Graph graph);

  int size() const { return static_cast<int>(nodes_.size()); }  // including removed ones
  const Node& node(int index) const { return nodes_[static_cast<size_t>(index)]; }
  bool removed(int index) const { return removed_[static_cast<size_t>(index)]; }
  // The numbers of the current nodes, in graph order.
  std::vector<int> order() const;

  const TensorType& type(ValueId id) const { return graph_.type(id); }
  const Shape& shape(ValueId id) const { return type(id).shape; }

  // The node that produces a value. Null for an input or a state; the second form also returns null
  // for a node of another op.
  const Node* producer(ValueId id) const;
  const Node* producer(ValueId id, std::string_view op) const;
  int producer_number(ValueId id) const { return producer_[static_cast<size_t>(id)]; }  // -1: none
  // Whether a value is a constant with a single element equal to `number`.
  bool is_number(ValueId id, double number) const;
  // The nodes that read a value, each listed once, in graph order.
  std::vector<int> readers(ValueId id) const;
  // The number of operands, graph outputs and state ends that are this value.
  int uses(ValueId id) const { return uses_[static_cast<size_t>(id)]; }
  // Whether it is a graph output or a state end.
  bool leaves(ValueId id) const { return leaving_[static_cast<size_t>(id)] > 0; }

  ValueId add_value(TensorType type);
  // Adds a node right before node `place`, with the same scope; the second form infers its outputs.
  int insert(int place, Node node);
  std::vector<ValueId> insert(int place, const OpDef& op, std::vector<ValueId> inputs,
                              Attributes attributes);
  void set_inputs(int index, std::vector<ValueId> inputs);
  void set_attributes(int index, Attributes attributes);
  // Replaces all uses of `old_id` by `new_id`.
  void replace(ValueId old_id, ValueId new_id);
  void remove(int index);
  // Removes the node that produces `id` if nothing uses its outputs, then the producers of its
  // operands that are now unused, and so on. Keeps collectives and nodes with an effect.
  void remove_unused(ValueId id);

  // Applies a rule to every node, including added ones, until nothing changes; rule(number) returns
  // whether it has changed anything.
  template <class Rule>
  void apply(Rule rule) {
    for (bool changed = true; changed;) {
      changed = false;
      for (int index : order()) {
        for (int next = index, added = size(); next >= 0;) {
          if (!removed(next)) changed |= rule(next);
          next = added < size() ? added++ : -1;
        }
      }
    }
  }

  // Returns the rewritten graph, sorted (operands that come after a node move before it) and
  // without dead nodes. The rewriter can't be used afterwards.
  Graph finish();

 private:
  size_t place_of(int index) const { return place_[static_cast<size_t>(index)]; }
  void use(int index);
  void index_node(int index);
  void count_uses(int index, int by);

  Graph graph_;  // without nodes
  std::deque<Node> nodes_;
  size_t original_;  // number of the original graph's nodes
  std::vector<size_t> place_;
  std::vector<bool> removed_;
  std::vector<int> producer_;              // by value; -1: none
  std::vector<std::vector<int>> readers_;  // by value; may contain former readers
  std::vector<int> uses_;                  // by value
  std::vector<int> leaving_;               // by value: uses as graph outputs and state ends
  std::vector<ValueId> replacement_;       // by value, for outputs and ends of states
};

}  // namespace cornu::passes
