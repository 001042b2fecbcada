// SPDX-License-Identifier: Apache-2.0
// Groups grow from reductions of rows: by the producers of their inputs, the readers of their
// results, and what those read. A value that is also read outside is stored, unless its readers,
// which are fused as well, can recompute it from what they have to read anyway.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "framework/backends/cpu/kernels/reduction/reduction.h"
#include "framework/backends/cpu/passes/internal_ops.h"
#include "framework/backends/cpu/passes/passes.h"
#include "framework/backends/cpu/passes/row_division.h"
#include "framework/graph/passes/bounded_groups.h"
#include "framework/graph/passes/elementwise_groups.h"
#include "framework/graph/passes/group_body.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::cpu {
namespace {

constexpr int kMaxRepeated = 3;  // nodes by which a value may be recomputed
constexpr int64_t kFew = 8;      // elements of a row for each of its results, at least

bool is_reduction(const Node& node) { return reduction_of(node.op->name).has_value(); }

// Groups of nodes, each over the rows of arrays of one shape.
class RowGroups {
 public:
  RowGroups(const Graph& graph, const RowBlockChoices& choices)
      : graph_(graph), choices_(choices), groups_(graph), shapes_(graph.nodes.size()) {
    const int count = static_cast<int>(graph.nodes.size());
    for (int node = 0; node < count; ++node) {
      if (reduces_rows(node)) shapes_[index(node)] = graph.type(at(node).inputs[0]).shape;
    }
    join_producers();
    join_readers();
    join_producers();  // of the readers
  }

  const passes::BoundedGroups& groups() const { return groups_; }
  // The shape of a group's arrays; nullopt if nothing is reduced.
  const std::optional<Shape>& shape(int group) const { return shapes_[index(group)]; }
  bool is_array(ValueId id, int group) const { return graph_.type(id).shape == shape(group); }
  bool reduces_rows(int node) const {
    if (!is_reduction(at(node))) return false;
    const TensorType& in = graph_.type(at(node).inputs[0]);
    const auto& axes = at(node).attributes.get_ints("axes");
    return in.bytes() >= static_cast<size_t>(choices_.least_bytes) && in.shape.rank() > 1 &&
           in.shape[0] > 1 && std::ranges::find(axes, 0) == axes.end() &&
           is_small(graph_.type(at(node).outputs[0]).shape, in.shape);
  }

 private:
  void join_producers() {
    for (int node = static_cast<int>(graph_.nodes.size()); node-- > 0;) {
      for (const int reader : groups_.readers(node)) join(node, groups_.group_of(reader));
    }
  }
  void join_readers() {
    for (int node = 0; node < static_cast<int>(graph_.nodes.size()); ++node) {
      for (const ValueId id : at(node).inputs) {
        if (groups_.producer(id) >= 0) join(node, groups_.group_of(groups_.producer(id)));
      }
    }
  }

  static size_t index(int node) { return static_cast<size_t>(node); }
  const Node& at(int node) const { return graph_.nodes[index(node)]; }

  // Whether there are a few numbers for each row of an array.
  static bool is_small(const Shape& shape, const Shape& array) {
    return shape.rank() > 0 && shape[0] == array[0] &&
           shape.num_elements() <= array.num_elements() / kFew;
  }

  void join(int node, int group) {
    const int own = groups_.group_of(node);
    if (own == group || !shape(group)) return;
    const Shape both = *shape(group);
    if ((shape(own) && shape(own) != both) || !fits(node, both)) return;
    if (const auto merged = groups_.merge(own, group)) shapes_[index(*merged)] = both;
  }

  bool fits(int node, const Shape& array) const {
    if (at(node).outputs.size() != 1) return false;
    const Shape& out = graph_.type(at(node).outputs[0]).shape;
    if (is_reduction(at(node)))
      return graph_.type(at(node).inputs[0]).shape == array && reduces_rows(node);
    if (passes::is_fusible(graph_, at(node))) return out == array || is_small(out, array);
    return at(node).is("reshape") && is_small(out, array) &&
           is_small(graph_.type(at(node).inputs[0]).shape, array);
  }

  const Graph& graph_;
  const RowBlockChoices& choices_;
  passes::BoundedGroups groups_;
  std::vector<std::optional<Shape>> shapes_;  // by group
};

class RowBlocker {
 public:
  RowBlocker(const Graph& graph, const RowBlockChoices& choices)
      : graph_(graph),
        choices_(choices),
        producers_(graph.producers()),
        rows_(graph, choices),
        repeated_(graph.types.size(), false) {}

  Graph run() {
    std::vector<Block> blocks;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int group = static_cast<int>(i);
      if (!rows_.shape(group) || rows_.groups().members(group).size() < 2) continue;
      blocks.push_back({group, stored_by(group)});
    }
    Graph result = graph_;
    std::vector<bool> kept(graph_.nodes.size(), true);
    for (const Block& block : blocks) {
      std::optional<Node> node = node_of(block);
      if (!node) continue;
      for (const ValueId id : block.stored) kept[static_cast<size_t>(producers_[at(id)])] = false;
      result.nodes.push_back(std::move(*node));
    }
    passes::keep_nodes(result, kept);
    passes::sort_topologically(result);
    return passes::eliminate_dead_nodes(std::move(result));
  }

 private:
  struct Block {
    int group;
    std::set<ValueId> stored;
  };

  static size_t at(ValueId id) { return static_cast<size_t>(id); }
  const Node& producer(ValueId id) const {
    return graph_.nodes[static_cast<size_t>(producers_[at(id)])];
  }
  bool is_made(ValueId id, int group) const {
    const int node = producers_[at(id)];
    return node >= 0 && rows_.groups().group_of(node) == group;
  }

  // nullopt if that isn't worthwhile or possible.
  std::optional<Node> node_of(const Block& block) const {
    const std::set<int> made = made_by(block);
    if (!is_worthwhile(block.group, made)) return std::nullopt;
    passes::GroupBody body(graph_, producers_);
    for (const int node : made) body.add(graph_.nodes[static_cast<size_t>(node)]);
    for (const ValueId id : block.stored) body.add_output(id);
    Node node = body.finish(internal_op("row_blocks"),
                            graph_.nodes[static_cast<size_t>(*made.rbegin())].scope);
    node.attributes.set("block_bytes", choices_.block_bytes);
    if (!RowDivision::of(node.attributes.get_graph("body"), choices_.block_bytes)) {
      return std::nullopt;
    }
    return node;
  }

  // The values that are read outside of the group, or that what is recomputed there is made of.
  std::set<ValueId> stored_by(int group) {
    std::set<ValueId> stored;
    std::vector<int> members = rows_.groups().members(group);
    std::ranges::sort(members);
    for (const int node : members) {
      const ValueId id = graph_.nodes[static_cast<size_t>(node)].outputs[0];
      if (rows_.groups().is_read_outside(id, group)) store(id, group, stored);
    }
    return stored;
  }

  void store(ValueId id, int group, std::set<ValueId>& stored) {
    if (stored.contains(id)) return;
    if (!is_repeated(id, group, stored)) {
      stored.insert(id);
      return;
    }
    repeated_[at(id)] = true;
    for (const ValueId in : producer(id).inputs) {
      if (is_made(in, group)) store(in, group, stored);
    }
  }

  // Whether readers outside recompute the value: from one array in place of it, or from two to add
  // up columns.
  bool is_repeated(ValueId id, int group, const std::set<ValueId>& stored) const {
    if (!rows_.is_array(id, group) || rows_.groups().leaves(id)) return false;
    bool only_sums = true;
    for (const int reader : rows_.groups().value_readers(id)) {
      const Node& node = graph_.nodes[static_cast<size_t>(reader)];
      if (rows_.groups().group_of(reader) == group) continue;
      const bool sums = passes::is_column_sum(graph_, node, {});
      const bool maps = passes::is_fusible(graph_, node) && rows_.is_array(node.outputs[0], group);
      if (!maps && !sums) return false;
      only_sums = only_sums && sums;
    }
    std::set<ValueId> arrays;
    int nodes = 0;
    return may_repeat(id, group, stored, arrays, nodes) && arrays.size() <= (only_sums ? 2 : 1);
  }
  // Collects the arrays from which the value is recomputed, and counts the nodes.
  bool may_repeat(ValueId id, int group, const std::set<ValueId>& stored, std::set<ValueId>& arrays,
                  int& nodes) const {
    if (!rows_.is_array(id, group)) return true;
    const bool is_computed = is_made(id, group) ? !stored.contains(id) : repeated_[at(id)];
    if (!is_computed) {
      arrays.insert(id);
      return true;
    }
    if (rows_.groups().leaves(id) || !passes::is_cheap(producer(id))) return false;
    if (++nodes > kMaxRepeated) return false;
    return std::ranges::all_of(producer(id).inputs, [&](ValueId in) {
      return may_repeat(in, group, stored, arrays, nodes);
    });
  }

  // The nodes that a group's stored values depend on: its own, and those that other groups leave to
  // their readers.
  std::set<int> made_by(const Block& block) const {
    std::set<int> made;
    std::vector<ValueId> open(block.stored.begin(), block.stored.end());
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      const bool is_copied = repeated_[at(id)] && rows_.is_array(id, block.group);
      if (!is_made(id, block.group) && !is_copied) continue;
      if (!made.insert(producers_[at(id)]).second) continue;
      for (const ValueId in : producer(id).inputs) open.push_back(in);
    }
    return made;
  }

  // Whether it reduces rows, and has another use of them.
  bool is_worthwhile(int group, const std::set<int>& made) const {
    const auto reductions =
        std::ranges::count_if(made, [&](int node) { return rows_.reduces_rows(node); });
    const bool maps = std::ranges::any_of(made, [&](int node) {
      return rows_.is_array(graph_.nodes[static_cast<size_t>(node)].outputs[0], group);
    });
    return reductions > 0 && maps;
  }

  const Graph& graph_;
  const RowBlockChoices& choices_;
  std::vector<int32_t> producers_;
  RowGroups rows_;
  std::vector<bool> repeated_;  // by value: its readers outside of its group compute it again
};

// Whether a node reduces the rows of a large array that is computed, and then the results for the
// rows. (Sums of whole columns are fused into what they add up.)
bool reduces_rows_and_more(const Graph& graph, const std::vector<int32_t>& producers,
                           const Node& node, const RowBlockChoices& choices) {
  if (!is_reduction(node)) return false;
  const int32_t producer = producers[static_cast<size_t>(node.inputs[0])];
  if (producer < 0 || !passes::is_fusible(graph, graph.nodes[static_cast<size_t>(producer)])) {
    return false;
  }
  const TensorType& in = graph.type(node.inputs[0]);
  const auto& axes = node.attributes.get_ints("axes");
  return in.bytes() >= static_cast<size_t>(choices.least_bytes) && axes.size() > 1 &&
         axes.front() == 0 && axes.back() == in.shape.rank() - 1 && in.shape.back() >= kFew;
}

// Divides such reductions into two, so that the first one can be computed together with its array.
Graph reduce_rows_first(const Graph& graph, const RowBlockChoices& choices) {
  const std::vector<int32_t> producers = graph.producers();
  passes::Rewriter result(graph);
  for (const int index : result.order()) {
    const Node node = result.node(index);
    if (!reduces_rows_and_more(graph, producers, node, choices)) continue;
    const auto& axes = node.attributes.get_ints("axes");
    Attributes of_rows = node.attributes;
    of_rows.set("axes", std::vector<int64_t>(axes.begin() + 1, axes.end()));
    of_rows.set("keepdims", true);
    const ValueId rows = result.insert(index, *node.op, node.inputs, of_rows)[0];
    result.set_inputs(index, {rows});
  }
  return result.finish();
}

}  // namespace

Graph block_rows(const Graph& graph, const RowBlockChoices& choices) {
  if (std::ranges::none_of(graph.nodes, is_reduction)) return graph;
  return RowBlocker(reduce_rows_first(graph, choices), choices).run();
}

}  // namespace cornu::cpu
