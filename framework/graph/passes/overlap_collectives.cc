// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

std::vector<TensorType> infer_start(std::span<const TensorType> inputs, const Attributes&) {
  std::vector<TensorType> types(inputs.begin(), inputs.end());
  types.push_back({DType::Int64, {}});
  return types;
}

std::vector<TensorType> infer_await(std::span<const TensorType> inputs, const Attributes&) {
  const size_t count = inputs.size() / 2;  // operands, pending results, the ticket
  return {inputs.begin() + static_cast<std::ptrdiff_t>(count), inputs.end() - 1};
}

// Registered on first use: programs never call them.
const OpDef& start_op() {
  static const OpDef& op =
      OpRegistry::global().add({.name = "all_reduce_start",
                                .infer = infer_start,
                                .vjp = {},
                                .traits = {.collective = true, .of_passes = true}});
  return op;
}

const OpDef& await_op() {
  static const OpDef& op = OpRegistry::global().add(
      {.name = "all_reduce_await", .infer = infer_await, .vjp = {}, .traits = {.of_passes = true}});
  return op;
}

class Overlap {
 public:
  explicit Overlap(Graph graph)
      : graph_(std::move(graph)),
        split_(graph_.nodes.size(), false),
        starts_(graph_.nodes.size() + 1),
        awaits_(graph_.nodes.size() + 1) {
    find_readers();
    // By value: the first position at which it is available; for a pending result, where it is
    // awaited.
    std::vector<size_t> available(graph_.types.size(), 0);
    size_t earliest = 0;  // first position of the next collective: after the previous ones
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      for (ValueId id : node.outputs) available[static_cast<size_t>(id)] = i + 1;
      if (!node.traits().collective) continue;
      if (!node.is("all_reduce")) {
        earliest = i + 1;
        continue;
      }
      size_t at = earliest;
      for (ValueId id : node.inputs) {
        at = std::max(at, available[static_cast<size_t>(id)]);
      }
      size_t end = graph_.nodes.size();
      for (ValueId id : node.outputs) end = std::min(end, readers_[static_cast<size_t>(id)]);
      if (computes_between(at, i, end)) {
        split_[i] = true;
        starts_[at].push_back(i);
        awaits_[end].push_back(i);
        for (ValueId id : node.outputs) available[static_cast<size_t>(id)] = end;
        earliest = at;
      } else {
        earliest = i + 1;
      }
    }
  }

  Graph run() {
    if (std::ranges::find(split_, true) == split_.end()) return std::move(graph_);
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (size_t i = 0; i <= nodes.size(); ++i) {
      // A reduction that starts here may read results awaited here.
      for (size_t collective : awaits_[i]) await(nodes[collective], collective);
      for (size_t collective : starts_[i]) start(nodes[collective], collective);
      if (i < nodes.size() && !split_[i]) graph_.nodes.push_back(nodes[i]);
    }
    return std::move(graph_);
  }

 private:
  // By value: the first node that reads it; the end of the graph if none does.
  void find_readers() {
    readers_.assign(graph_.types.size(), graph_.nodes.size());
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      for (ValueId id : graph_.nodes[i].inputs) readers_[static_cast<size_t>(id)] = i;
    }
  }

  // Whether there is work to do while the collective runs.
  bool computes_between(size_t begin, size_t self, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      const Node& node = graph_.nodes[i];
      const bool works = !node.is("constant") && !node.is("reshape") && !node.traits().collective;
      if (i != self && works) return true;
    }
    return false;
  }

  void start(const Node& node, size_t index) {
    Node begun{.op = &start_op(),
               .inputs = node.inputs,
               .outputs = {},
               .attributes = node.attributes,
               .scope = node.scope};
    for (ValueId id : node.outputs) begun.outputs.push_back(graph_.add_value(graph_.type(id)));
    begun.outputs.push_back(graph_.add_value({DType::Int64, {}}));
    pending_[index] = begun.outputs;
    graph_.nodes.push_back(std::move(begun));
  }

  void await(const Node& node, size_t index) {
    Node end{.op = &await_op(),
             .inputs = node.inputs,
             .outputs = node.outputs,
             .attributes = {},
             .scope = node.scope};
    const std::vector<ValueId>& begun = pending_.at(index);
    end.inputs.insert(end.inputs.end(), begun.begin(), begun.end());
    graph_.nodes.push_back(std::move(end));
  }

  Graph graph_;
  std::vector<size_t> readers_;              // by value
  std::vector<bool> split_;                  // by node
  std::vector<std::vector<size_t>> starts_;  // by node: the collectives that start before it
  std::vector<std::vector<size_t>> awaits_;
  std::unordered_map<size_t, std::vector<ValueId>> pending_;
};

}  // namespace

Graph overlap_collectives(Graph graph) { return Overlap(std::move(graph)).run(); }

}  // namespace cornu::passes
