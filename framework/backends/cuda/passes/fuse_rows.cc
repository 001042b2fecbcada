// SPDX-License-Identifier: Apache-2.0
// Groups grow from reductions of rows: first by the producers of their inputs, then by the readers
// of their results. A value that is read outside of its group is stored, unless its readers, which
// will be fused as well, can recompute it from what they have to read anyway.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "framework/backends/cuda/kernels/rows/domain.h"
#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/passes/bounded_groups.h"
#include "framework/graph/passes/elementwise_groups.h"
#include "framework/graph/passes/group_body.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {
namespace {

constexpr size_t kMaxRowsRepeated = 24;  // limit on the values from which one is recomputed
constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();

const OpDef& rows_op() {
  static const OpDef& op = OpRegistry::global().add({.name = "fused_rows",
                                                     .infer = passes::infer_body,
                                                     .vjp = {},
                                                     .traits = {.of_passes = true}});
  return op;
}

// Groups of nodes, each over the rows of one array.
class RowGroups {
 public:
  explicit RowGroups(const Graph& graph)
      : graph_(graph), groups_(graph), domains_(graph.nodes.size()) {
    const int count = static_cast<int>(graph.nodes.size());
    for (int node = 0; node < count; ++node) {
      domains_[index(node)] = reduced_rows(graph, at(node));
      of_reduction_.push_back(domains_[index(node)].has_value() || is_made_of_reductions(node));
    }
    for (int node = count; node-- > 0;) {
      for (const int reader : groups_.readers(node)) join(node, groups_.group_of(reader), true);
    }
    for (int node = 0; node < count; ++node) {
      for (const ValueId id : at(node).inputs) {
        if (groups_.producer(id) >= 0) {
          join(node, groups_.group_of(groups_.producer(id)), false);
        }
      }
    }
  }

  const passes::BoundedGroups& groups() const { return groups_; }
  // The domain of a group; nullopt if nothing is reduced.
  const std::optional<RowDomain>& domain(int group) const { return domains_[index(group)]; }
  bool is_full(ValueId id, int group) const {
    return domain(group) && graph_.type(id).shape == domain(group)->shape;
  }

 private:
  static size_t index(int node) { return static_cast<size_t>(node); }
  const Node& at(int node) const { return graph_.nodes[index(node)]; }
  RowKind kind(ValueId id, const RowDomain& domain) const {
    return domain.kind(graph_.type(id).shape);
  }
  bool is_elementwise(int node) const { return passes::is_fusible(graph_, at(node)); }
  bool is_reshape(int node) const {
    return at(node).is("reshape") && at(node).inputs.size() == 1 &&
           graph_.type(at(node).outputs[0]).shape.num_elements() > 0;
  }

  // Whether the node depends on reduced values of rows.
  bool is_made_of_reductions(int node) const {
    if (!is_elementwise(node) && !is_reshape(node)) return false;
    return std::ranges::any_of(at(node).inputs, [&](ValueId id) {
      const int producer = groups_.producer(id);
      return producer >= 0 && of_reduction_[index(producer)];
    });
  }

  void join(int node, int group, bool needs_reduction) {
    const int own = groups_.group_of(node);
    if (own == group || !domain(group)) return;
    const RowDomain domain_of_both = *domain(group);
    if (domain(own) && domain(own)->shape != domain_of_both.shape) return;
    if (!fits(node, domain_of_both, needs_reduction) || !are_apart(own, group)) return;
    if (const auto merged = groups_.merge(own, group)) domains_[index(*merged)] = domain_of_both;
  }

  bool fits(int node, const RowDomain& domain, bool needs_reduction) const {
    if (const auto own = reduced_rows(graph_, at(node))) return own->shape == domain.shape;
    if (!is_elementwise(node) && !is_reshape(node)) return false;
    const std::vector<ValueId>& inputs = at(node).inputs;
    const Shape& shape = graph_.type(at(node).outputs[0]).shape;
    if (shape == domain.shape) {
      return is_elementwise(node) &&
             std::ranges::all_of(inputs, [&](ValueId id) { return spans(id, domain); });
    }
    if (shape.num_elements() != domain.rows) return false;
    if (needs_reduction && !of_reduction_[index(node)]) return false;
    return std::ranges::all_of(inputs, [&](ValueId id) {
      const int64_t count = graph_.type(id).shape.num_elements();
      return count == domain.rows || count == 1;
    });
  }

  // Whether the operand broadcasts over the array.
  bool spans(ValueId id, const RowDomain& domain) const {
    const Shape& shape = graph_.type(id).shape;
    const RowKind form = domain.kind(shape);
    if (form == RowKind::Row) return shape[shape.rank() - 1] == 1;
    return form != RowKind::Other;
  }

  // Whether no row in either group reads another row's values: if there are as many rows as
  // columns, one node's value per row could be read by another node as one per column.
  bool are_apart(int a, int b) const {
    return std::ranges::all_of(std::vector<int>{a, b}, [&](int group) {
      return std::ranges::all_of(groups_.members(group), [&](int node) {
        return std::ranges::all_of(at(node).inputs,
                                   [&](ValueId id) { return is_apart(node, id, a, b); });
      });
    });
  }
  bool is_apart(int node, ValueId id, int a, int b) const {
    const RowDomain& of_both = domain(a) ? *domain(a) : *domain(b);
    if (kind(id, of_both) != RowKind::Column) return true;
    const bool is_array = graph_.type(at(node).outputs[0]).shape == of_both.shape;
    const int producer = groups_.producer(id);
    const int group = producer < 0 ? -1 : groups_.group_of(producer);
    return (group == a || group == b) != is_array;
  }

  const Graph& graph_;
  passes::BoundedGroups groups_;
  std::vector<std::optional<RowDomain>> domains_;  // by group
  std::vector<bool> of_reduction_;                 // by node
};

class RowFuser {
 public:
  explicit RowFuser(const Graph& graph)
      : graph_(graph),
        producers_(graph.producers()),
        rows_(graph),
        stored_(graph.types.size(), false),
        repeated_(graph.types.size(), false) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const int group = static_cast<int>(i);
      if (!rows_.domain(group) || rows_.groups().members(group).size() < 2) continue;
      fused_.push_back(group);
      choose(group);
    }
  }

  Graph run() const {
    Graph result = graph_;
    std::vector<bool> kept(graph_.nodes.size(), true);
    for (const int group : fused_) {
      const std::set<int> made = made_by(group);
      if (!is_worthwhile(group, made)) continue;
      passes::GroupBody body(graph_, producers_);
      for (const int node : made) body.add(graph_.nodes[static_cast<size_t>(node)]);
      for (const int node : sorted_members(group)) {
        if (!stored_[at(output(node))]) continue;
        body.add_output(output(node));
        kept[static_cast<size_t>(node)] = false;
      }
      const Node& last = graph_.nodes[static_cast<size_t>(*made.rbegin())];
      result.nodes.push_back(body.finish(rows_op(), last.scope));
    }
    passes::keep_nodes(result, kept);
    passes::sort_topologically(result);
    return passes::eliminate_dead_nodes(std::move(result));
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id); }
  const Node& producer(ValueId id) const {
    return graph_.nodes[static_cast<size_t>(producers_[at(id)])];
  }
  ValueId output(int node) const { return graph_.nodes[static_cast<size_t>(node)].outputs[0]; }
  // -1 for inputs of the graph.
  int group_of(ValueId id) const {
    const int node = producers_[at(id)];
    return node < 0 ? -1 : rows_.groups().group_of(node);
  }
  std::vector<int> sorted_members(int group) const {
    std::vector<int> members = rows_.groups().members(group);
    std::ranges::sort(members);
    return members;
  }

  // ---- choice of stored values ----

  void choose(int group) {
    for (const int node : sorted_members(group)) {
      const ValueId id = output(node);
      if (!rows_.groups().is_read_outside(id, group) || stored_[at(id)]) continue;
      if (rows_.is_full(id, group) && may_repeat(group, id)) {
        repeat(group, id);
      } else {
        stored_[at(id)] = true;
      }
    }
  }

  // Whether all outside readers of the value can be fused, and recompute it from no more bytes than
  // it has. Sums over columns read much of that anyway.
  bool may_repeat(int group, ValueId id) const {
    if (rows_.groups().leaves(id)) return false;
    bool only_sums = true;
    for (const int reader : rows_.groups().value_readers(id)) {
      if (rows_.groups().group_of(reader) == group) continue;
      const Node& node = graph_.nodes[static_cast<size_t>(reader)];
      const bool sums = passes::is_column_sum(graph_, node, kFusion);
      const bool maps = passes::is_fusible(graph_, node) && rows_.is_full(node.outputs[0], group);
      if (!sums && !maps && !reduced_rows(graph_, node)) return false;
      only_sums = only_sums && sums;
    }
    std::set<ValueId> seen;
    return bytes_to_repeat(group, id, seen) <= (only_sums ? 2 : 1) * bytes(id);
  }

  // Bytes that outside readers transfer to recompute a value, or for having its operands stored.
  // `seen` are values that are already counted.
  size_t bytes_to_repeat(int group, ValueId id, std::set<ValueId>& seen) const {
    if (!passes::is_cheap(producer(id)) || seen.size() >= kMaxRowsRepeated) return kUnbounded;
    size_t sum = 0;
    for (const ValueId in : producer(id).inputs) {
      if (!rows_.is_full(in, group) || !seen.insert(in).second) continue;
      if (is_computed(group, in)) {
        sum += std::min(bytes_to_repeat(group, in, seen), 2 * bytes(in));
      } else {
        sum += bytes(in);
      }
    }
    return sum;
  }
  size_t bytes(ValueId id) const { return graph_.type(id).bytes(); }

  // Whether the value isn't in memory before the group's results are.
  bool is_computed(int group, ValueId id) const {
    return repeated_[at(id)] || (group_of(id) == group && !stored_[at(id)]);
  }

  // The value's nodes are repeated outside; stored are its operands among the group's rows, and
  // those that take more bytes to recompute than to store.
  void repeat(int group, ValueId id) {
    repeated_[at(id)] = true;
    for (const ValueId in : producer(id).inputs) {
      if (group_of(in) != group || stored_[at(in)] || repeated_[at(in)]) continue;
      std::set<ValueId> seen;
      if (rows_.is_full(in, group) && bytes_to_repeat(group, in, seen) <= 2 * bytes(in)) {
        repeat(group, in);
      } else {
        stored_[at(in)] = true;
      }
    }
  }

  // ---- bodies ----

  // The nodes that a group's kernel computes: those its stored values depend on, including the ones
  // that other groups leave to their readers.
  std::set<int> made_by(int group) const {
    std::set<int> made;
    std::vector<ValueId> open;
    for (const int node : sorted_members(group)) {
      if (stored_[at(output(node))]) open.push_back(output(node));
    }
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (group_of(id) != group && !(repeated_[at(id)] && rows_.is_full(id, group))) continue;
      if (!made.insert(producers_[at(id)]).second) continue;
      for (const ValueId in : producer(id).inputs) open.push_back(in);
    }
    return made;
  }

  // Whether it reduces rows, and that isn't the only use of what it reads.
  bool is_worthwhile(int group, const std::set<int>& made) const {
    const auto reductions = std::ranges::count_if(made, [&](int node) {
      return reduced_rows(graph_, graph_.nodes[static_cast<size_t>(node)]).has_value();
    });
    const bool stores = std::ranges::any_of(made, [&](int node) {
      const ValueId id = output(node);
      return group_of(id) == group && stored_[at(id)] && rows_.is_full(id, group);
    });
    return reductions > 1 || (reductions == 1 && stores);
  }

  const Graph& graph_;
  std::vector<int32_t> producers_;
  RowGroups rows_;
  std::vector<int> fused_;      // the fused groups
  std::vector<bool> stored_;    // by value: its group stores it
  std::vector<bool> repeated_;  // by value: recomputed by every reader
};

}  // namespace

Graph fuse_rows(const Graph& graph) { return RowFuser(passes::eliminate_dead_nodes(graph)).run(); }

}  // namespace cornu::cuda
