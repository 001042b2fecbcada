// SPDX-License-Identifier: Apache-2.0
// Groups become "fused" nodes. A value that one group computes and another reads goes through
// memory, unless recomputing it is cheaper: if the reader already reads the operands of cheap
// operations (as the gradient of a normalization reads the convolution's output), it recomputes the
// value, which is then stored only if another reader needs it.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "framework/graph/passes/elementwise_groups.h"
#include "framework/graph/passes/group_body.h"
#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

constexpr size_t kMaxRepeated = 24;  // nodes that a group recomputes
constexpr size_t kMaxOperands = 28;  // of a group, including what it recomputes

class Fuser {
 public:
  Fuser(const Graph& graph, const FusionChoices& choices)
      : graph_(graph),
        producers_(graph.producers()),
        groups_(elementwise_groups(graph, choices)),
        group_of_(graph.nodes.size(), -1),
        repeated_(groups_.size()),
        made_(groups_.size()),
        left_(groups_.size()),
        stays_(graph.types.size(), false) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      for (int node : groups_[group])
        group_of_[static_cast<size_t>(node)] = static_cast<int>(group);
    }
    each_read_outside([&](ValueId id) { stay(id); });
    choose_repeated();
    each_read_outside([&](ValueId id) { demand(id); });
  }

  Graph run() const {
    Graph result = graph_;
    std::vector<bool> kept(graph_.nodes.size(), true);
    for (size_t group = 0; group < groups_.size(); ++group) {
      for (int node : groups_[group]) kept[static_cast<size_t>(node)] = false;
      if (made_[group].empty()) continue;
      if (made_[group].size() == 1) {  // stays unchanged
        kept[static_cast<size_t>(*made_[group].begin())] = true;
        continue;
      }
      // A fused node takes the position of the group's last member.
      const auto last = static_cast<size_t>(groups_[group].back());
      kept[last] = true;
      result.nodes[last] = fused(group);
    }
    keep_nodes(result, kept);
    sort_topologically(result);
    return eliminate_dead_nodes(std::move(result));
  }

 private:
  int producer(ValueId id) const { return producers_[static_cast<size_t>(id)]; }
  const Node& node(int index) const { return graph_.nodes[static_cast<size_t>(index)]; }
  int group_of(int node) const { return node < 0 ? -1 : group_of_[static_cast<size_t>(node)]; }
  bool stays(ValueId id) const { return stays_[static_cast<size_t>(id)]; }
  void stay(ValueId id) { stays_[static_cast<size_t>(id)] = true; }

  // ---- recomputed values ----

  // Calls visit(value) for values that are read outside of groups, which are in memory in any case.
  template <class Visit>
  void each_read_outside(Visit visit) const {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (group_of_[i] >= 0) continue;
      for (ValueId id : graph_.nodes[i].inputs) visit(id);
    }
    for (ValueId id : graph_.outputs) visit(id);
    for (const StateBinding& state : graph_.states) visit(state.out);
  }

  // The shape that a group iterates over.
  const Shape& shape(size_t group) const {
    const Node& first = node(groups_[group].front());
    return graph_.type(first.is("reduce_sum") ? first.inputs[0] : first.outputs[0]).shape;
  }

  // Whether the value has the group's shape and another group computes it cheaply.
  bool may_repeat(size_t group, ValueId id) const {
    const int index = producer(id);
    return group_of(index) >= 0 && group_of(index) != static_cast<int>(group) &&
           is_cheap(node(index)) && graph_.type(id).shape == shape(group);
  }

  // Chooses for all groups, and again for those that recompute a value that turns out to stay in
  // memory.
  void choose_repeated() {
    std::vector<size_t> open(groups_.size());
    std::iota(open.rbegin(), open.rend(), size_t{0});
    std::unordered_map<ValueId, std::vector<size_t>> repeaters;
    while (!open.empty()) {
      const size_t group = open.back();
      open.pop_back();
      for (ValueId id : choose_repeated(group)) {
        if (stays(id)) continue;
        stay(id);
        for (size_t other : repeaters[id]) {
          if (repeated_[other].contains(id)) open.push_back(other);
        }
      }
      for (ValueId id : repeated_[group]) repeaters[id].push_back(group);
    }
  }

  // Returns the values of other groups that the group reads.
  std::set<ValueId> choose_repeated(size_t group) {
    repeated_[group].clear();
    std::set<ValueId> read;  // values of the group's shape
    std::set<ValueId> kept;
    std::set<ValueId> candidates;
    for (int member : groups_[group]) {
      for (ValueId id : node(member).inputs) {
        if (group_of(producer(id)) == static_cast<int>(group)) continue;
        if (graph_.type(id).shape == shape(group)) read.insert(id);
        (may_repeat(group, id) ? candidates : kept).insert(id);
      }
    }
    // Values read to recompute one value may help to recompute another.
    for (bool progress = true; progress;) {
      progress = false;
      for (ValueId id : std::set(candidates)) {
        if (!repeat(group, id, read)) continue;
        candidates.erase(id);
        progress = true;
      }
    }
    kept.merge(candidates);
    return kept;
  }

  // Makes a group recompute `id` instead of reading it, unless it would then read more bytes.
  bool repeat(size_t group, ValueId id, std::set<ValueId>& read) {
    std::set<ValueId> computed;
    std::set<ValueId> more;
    const auto are_too_many = [&] {
      return repeated_[group].size() + computed.size() > kMaxRepeated;
    };
    const std::function<void(ValueId)> expand = [&](ValueId value) {
      computed.insert(value);
      if (are_too_many()) return;  // whatever else it requires
      for (ValueId in : node(producer(value)).inputs) {
        if (computed.contains(in) || repeated_[group].contains(in)) continue;
        if (group_of(producer(in)) == static_cast<int>(group)) continue;
        if (graph_.type(in).shape != graph_.type(id).shape || read.contains(in)) continue;
        // A value that is in memory anyway is read, unless `id` is as well: then it is recomputed,
        // to read one value less.
        if (may_repeat(group, in) && (!stays(in) || stays(id))) {
          expand(in);
        } else {
          more.insert(in);
        }
      }
    };
    expand(id);
    size_t bytes = 0;
    for (ValueId in : more) bytes += graph_.type(in).bytes();
    const size_t most = stays(id) ? 0 : graph_.type(id).bytes();
    if (bytes > most || are_too_many()) return false;
    if (read.size() + more.size() > kMaxOperands) return false;
    read.erase(id);
    read.insert(more.begin(), more.end());
    repeated_[group].insert(computed.begin(), computed.end());
    return true;
  }

  // ---- needed values ----

  // Marks a value as read from memory, and likewise the values of other groups needed to compute
  // it.
  void demand(ValueId id) {
    std::vector<std::pair<size_t, ValueId>> open;  // values that groups compute
    const auto read = [&](ValueId value) {
      const int group = group_of(producer(value));
      if (group < 0 || !left_[static_cast<size_t>(group)].insert(value).second) return;
      open.emplace_back(static_cast<size_t>(group), value);
    };
    read(id);
    while (!open.empty()) {
      const auto [group, value] = open.back();
      open.pop_back();
      if (!made_[group].insert(producer(value)).second) continue;
      for (ValueId in : node(producer(value)).inputs) {
        if (is_made(group, in)) {
          open.emplace_back(group, in);
        } else {
          read(in);
        }
      }
    }
  }

  bool is_made(size_t group, ValueId id) const {
    return group_of(producer(id)) == static_cast<int>(group) || repeated_[group].contains(id);
  }

  // The body contains the nodes that the group computes, in graph order.
  Node fused(size_t group) const {
    GroupBody body(graph_, producers_);
    for (int index : made_[group]) body.add(node(index));
    for (int index : groups_[group]) {
      const ValueId id = node(index).outputs[0];
      if (left_[group].contains(id)) body.add_output(id);
    }
    return body.finish(fused_op(), node(groups_[group].back()).scope);
  }

  const Graph& graph_;
  std::vector<int32_t> producers_;
  std::vector<std::vector<int>> groups_;
  std::vector<int> group_of_;                // by node
  std::vector<std::set<ValueId>> repeated_;  // by group: values of other groups that it recomputes
  std::vector<std::set<int>> made_;          // by group: the nodes that it computes
  std::vector<std::set<ValueId>> left_;      // by group: its values that are read from memory
  std::vector<bool> stays_;                  // by value: in memory in any case
};

}  // namespace

// Registered on first use: programs never call it.
const OpDef& fused_op() {
  static const OpDef& op = OpRegistry::global().add(
      {.name = "fused", .infer = infer_body, .vjp = {}, .traits = {.of_passes = true}});
  return op;
}

Graph fuse_elementwise(const Graph& graph, const FusionChoices& choices) {
  return Fuser(eliminate_dead_nodes(graph), choices).run();
}

}  // namespace cornu::passes
