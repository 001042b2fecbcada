// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "cornu/graph/passes/internal_ops.h"
#include "cornu/graph/passes/pass.h"

namespace cornu::passes {
namespace {

constexpr size_t kMostNodes = 64;   // in one group
constexpr size_t kMostInputs = 24;  // of one group
constexpr int kNone = -2;           // no node; -1 stands for no producer

bool is_fusible(const Graph& graph, const Node& node) {
  return node.op->traits.elementwise && node.outputs.size() == 1 &&
         graph.type(node.outputs[0]).shape.num_elements() > 0;
}

// Grows groups of elementwise nodes with one output shape. Groups are convex: no path leaves a
// group and comes back, so that each can become one node.
class Grouping {
 public:
  explicit Grouping(const Graph& graph) : graph_(graph), producers_(graph.producers()) {
    const size_t count = graph.nodes.size();
    group_.assign(count, -1);
    readers_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      for (ValueId id : graph.nodes[i].inputs) {
        const int32_t producer = producers_[static_cast<size_t>(id)];
        if (producer >= 0) readers_[static_cast<size_t>(producer)].push_back(static_cast<int>(i));
      }
    }
    for (size_t i = count; i-- > 0;) {
      if (is_fusible(graph, graph.nodes[i])) place(static_cast<int>(i));
    }
    merge_siblings();
  }

  std::vector<std::vector<int>> groups() const {
    std::map<int, std::vector<int>> members;
    for (size_t i = 0; i < group_.size(); ++i) {
      if (group_[i] >= 0) members[group_[i]].push_back(static_cast<int>(i));
    }
    std::vector<std::vector<int>> result;
    for (auto& [group, nodes] : members) {
      if (nodes.size() > 1) result.push_back(std::move(nodes));
    }
    return result;
  }

 private:
  const Shape& shape(int node) const {
    return graph_.type(graph_.nodes[static_cast<size_t>(node)].outputs[0]).shape;
  }

  // Joins the group of a reader when that keeps it convex; else a new group begins.
  void place(int node) {
    for (int reader : readers_[static_cast<size_t>(node)]) {
      const int group = group_[static_cast<size_t>(reader)];
      if (group < 0 || shape(reader) != shape(node) || members_[group].size() >= kMostNodes)
        continue;
      if (input_count(group, node) > kMostInputs || leaves_and_returns(node, group)) continue;
      join(node, group);
      return;
    }
    join(node, next_group_++);
  }

  void join(int node, int group) {
    group_[static_cast<size_t>(node)] = group;
    members_[group].push_back(node);
  }

  // `with`: a node that would join, or kNone.
  size_t input_count(int group, int with) const {
    std::set<ValueId> inputs;
    auto add = [&](int node) {
      for (ValueId id : graph_.nodes[static_cast<size_t>(node)].inputs) {
        const int32_t producer = producers_[static_cast<size_t>(id)];
        if (producer != with && (producer < 0 || group_[static_cast<size_t>(producer)] != group)) {
          inputs.insert(id);
        }
      }
    };
    for (int member : members_.at(group)) add(member);
    if (with >= 0) add(with);
    return inputs.size();
  }

  // Is there a path from `node` to a member of `group` through a node outside of it? Other groups
  // count as one node: entering any member means reaching everything that any member leads to.
  bool leaves_and_returns(int node, int group) const {
    std::vector<bool> seen(graph_.nodes.size(), false);
    std::vector<int> stack;
    auto push = [&](int next) {
      if (seen[static_cast<size_t>(next)]) return;
      seen[static_cast<size_t>(next)] = true;
      stack.push_back(next);
    };
    for (int reader : readers_[static_cast<size_t>(node)]) {
      if (group_[static_cast<size_t>(reader)] != group) push(reader);
    }
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      const int other = group_[static_cast<size_t>(at)];
      if (other == group) return true;
      if (other >= 0) {
        for (int member : members_.at(other)) push(member);
      }
      for (int reader : readers_[static_cast<size_t>(at)]) push(reader);
    }
    return false;
  }

  // Groups that read the same value walk over it together, where neither depends on the other.
  void merge_siblings() {
    for (size_t value = 0; value < graph_.types.size(); ++value) {
      int first = -1;
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        const int group = group_[i];
        if (group < 0 || group == first) continue;
        const auto& inputs = graph_.nodes[i].inputs;
        const bool reads =
            std::find(inputs.begin(), inputs.end(), static_cast<ValueId>(value)) != inputs.end();
        if (!reads || shape(static_cast<int>(i)) != graph_.types[value].shape) continue;
        if (first < 0) {
          first = group;
        } else if (can_merge(first, group)) {
          merge(group, first);
        }
      }
    }
  }

  bool can_merge(int a, int b) const {
    if (members_.at(a).size() + members_.at(b).size() > kMostNodes) return false;
    if (input_count(a, kNone) + input_count(b, kNone) > kMostInputs) return false;
    if (shape(members_.at(a).front()) != shape(members_.at(b).front())) return false;
    return !reaches(a, b) && !reaches(b, a);
  }

  bool reaches(int from, int to) const {
    return std::any_of(members_.at(from).begin(), members_.at(from).end(),
                       [&](int member) { return leads_to(member, from, to); });
  }

  bool leads_to(int node, int own, int target) const {
    std::vector<bool> seen(graph_.nodes.size(), false);
    std::vector<int> stack = {node};
    seen[static_cast<size_t>(node)] = true;
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      const int group = group_[static_cast<size_t>(at)];
      if (group == target) return true;
      auto push = [&](int next) {
        if (seen[static_cast<size_t>(next)]) return;
        seen[static_cast<size_t>(next)] = true;
        stack.push_back(next);
      };
      if (group >= 0 && group != own) {
        for (int member : members_.at(group)) push(member);
      }
      for (int reader : readers_[static_cast<size_t>(at)]) push(reader);
    }
    return false;
  }

  void merge(int from, int into) {
    for (int member : members_[from]) join(member, into);
    members_.erase(from);
  }

  const Graph& graph_;
  std::vector<int32_t> producers_;
  std::vector<int> group_;  // by node
  std::vector<std::vector<int>> readers_;
  std::map<int, std::vector<int>> members_;
  int next_group_ = 0;
};

// Moves the given nodes (indices in order) into the body of one "fused" node.
Node make_fused(const Graph& graph, const std::vector<int>& nodes,
                const std::vector<int32_t>& producers) {
  auto body = std::make_shared<Graph>();
  Node fused{
      .op = &internal_op("fused"), .inputs = {}, .outputs = {}, .attributes = {}, .scope = {}};
  const std::set<int> inside(nodes.begin(), nodes.end());
  std::map<ValueId, ValueId> to_body;
  static const OpDef& constant = OpRegistry::global().at("constant");
  auto body_value = [&](ValueId id) {
    if (const auto it = to_body.find(id); it != to_body.end()) return it->second;
    const int32_t producer = producers[static_cast<size_t>(id)];
    const ValueId inner = body->add_value(graph.type(id));
    // Scalar constants move inside, where kernels make immediates of them.
    if (producer >= 0 && graph.nodes[static_cast<size_t>(producer)].op == &constant &&
        graph.type(id).shape.num_elements() == 1) {
      Node copy = graph.nodes[static_cast<size_t>(producer)];
      copy.outputs = {inner};
      body->nodes.push_back(std::move(copy));
    } else {
      body->inputs.push_back(inner);
      fused.inputs.push_back(id);
    }
    return to_body[id] = inner;
  };
  for (int index : nodes) {
    Node node = graph.nodes[static_cast<size_t>(index)];
    for (ValueId& id : node.inputs) id = body_value(id);
    for (ValueId& id : node.outputs) id = to_body[id] = body->add_value(graph.type(id));
    body->nodes.push_back(std::move(node));
  }
  std::set<ValueId> used_outside(graph.outputs.begin(), graph.outputs.end());
  for (const StateBinding& state : graph.states) used_outside.insert(state.out);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (inside.count(static_cast<int>(i))) continue;
    used_outside.insert(graph.nodes[i].inputs.begin(), graph.nodes[i].inputs.end());
  }
  for (int index : nodes) {
    const ValueId id = graph.nodes[static_cast<size_t>(index)].outputs[0];
    if (!used_outside.count(id)) continue;
    fused.outputs.push_back(id);
    body->outputs.push_back(to_body.at(id));
  }
  fused.scope = graph.nodes[static_cast<size_t>(nodes.back())].scope;
  fused.attributes.set("body", std::shared_ptr<const Graph>(body));
  return fused;
}

}  // namespace

Graph fuse_elementwise(const Graph& graph) {
  const std::vector<std::vector<int>> groups = Grouping(graph).groups();
  const std::vector<int32_t> producers = graph.producers();
  Graph result = graph;
  std::set<int> moved;
  std::map<int, Node> at_last;  // a fused node stands where its last member stood
  for (const std::vector<int>& nodes : groups) {
    moved.insert(nodes.begin(), nodes.end());
    at_last.emplace(nodes.back(), make_fused(graph, nodes, producers));
  }
  result.nodes.clear();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const int index = static_cast<int>(i);
    if (const auto it = at_last.find(index); it != at_last.end()) {
      result.nodes.push_back(std::move(it->second));
    } else if (!moved.count(index)) {
      result.nodes.push_back(graph.nodes[i]);
    }
  }
  sort_topologically(result);
  return eliminate_dead_nodes(result);
}

}  // namespace cornu::passes
