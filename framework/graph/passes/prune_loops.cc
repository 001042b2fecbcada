// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

bool is_loop(const Node& node) { return node.is("scan") || node.is("while"); }

// Prunes loops from last to first: earlier loops needn't compute what a loop no longer reads.
class Pruner {
 public:
  explicit Pruner(const Graph& graph)
      : graph_(eliminate_dead_nodes(graph)), uses_(graph_.use_counts()) {}

  Graph run() {
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      Node& node = graph_.nodes[i];
      const bool dead = !must_run(node) &&
                        std::ranges::none_of(node.outputs, [&](ValueId id) { return is_used(id); });
      if (dead) {
        for (ValueId id : node.inputs) --uses(id);
      } else if (is_loop(node)) {
        prune(node);
      }
    }
    return eliminate_dead_nodes(std::move(graph_));
  }

 private:
  int32_t& uses(ValueId id) { return uses_[static_cast<size_t>(id)]; }
  bool is_used(ValueId id) { return uses(id) > 0; }

  // The parts of a loop node.
  struct Parts {
    explicit Parts(const Node& node)
        : body(node.attributes.get_graph("body")),
          carries(static_cast<size_t>(node.attributes.get_int("carries"))),
          first_y(carries + (node.is("while") ? 1 : 0)) {}
    Graph body;
    size_t carries;
    size_t first_y;  // index among the node's outputs
  };

  // By carry: whether a used output depends on it.
  std::vector<bool> needed_carries(const Node& node, const Parts& parts) {
    std::vector<bool> needed(parts.carries);
    for (size_t i = 0; i < parts.carries; ++i) needed[i] = is_used(node.outputs[i]);
    const std::vector<bool> by_condition = read_by_condition(node);
    for (size_t i = 0; i < by_condition.size() && i < parts.carries; ++i) {
      needed[i] = needed[i] || by_condition[i];
    }
    for (bool changed = true; std::exchange(changed, false);) {
      Graph live = parts.body;
      live.outputs = needed_outputs(node, parts, needed);
      const std::vector<int32_t> uses = eliminate_dead_nodes(std::move(live)).use_counts();
      for (size_t i = 0; i < parts.carries; ++i) {
        if (needed[i] || uses[static_cast<size_t>(parts.body.inputs[i])] == 0) continue;
        needed[i] = changed = true;
      }
    }
    return needed;
  }

  static std::vector<bool> read_by_condition(const Node& node) {
    std::vector<bool> read;
    if (!node.is("while")) return read;
    const Graph condition = eliminate_dead_nodes(node.attributes.get_graph("condition"));
    const std::vector<int32_t> uses = condition.use_counts();
    for (ValueId id : condition.inputs) read.push_back(uses[static_cast<size_t>(id)] > 0);
    return read;
  }

  std::vector<ValueId> needed_outputs(const Node& node, const Parts& parts,
                                      const std::vector<bool>& carries) {
    std::vector<ValueId> outputs;
    for (size_t i = 0; i < parts.body.outputs.size(); ++i) {
      const bool needed =
          i < parts.carries ? carries[i] : is_used(node.outputs[parts.first_y + i - parts.carries]);
      if (needed) outputs.push_back(parts.body.outputs[i]);
    }
    return outputs;
  }

  void prune(Node& node) {
    Parts parts(node);
    const std::vector<bool> carries = needed_carries(node, parts);
    std::vector<ValueId> outputs;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const bool count = i >= parts.carries && i < parts.first_y;
      if (count || (i < parts.carries ? carries[i] : is_used(node.outputs[i]))) {
        outputs.push_back(node.outputs[i]);
      }
    }
    parts.body.outputs = needed_outputs(node, parts, carries);
    parts.body = simplify(parts.body);
    const std::vector<int32_t> body_uses = parts.body.use_counts();
    const std::vector<bool> by_condition = read_by_condition(node);
    const size_t xs = node.is("scan") ? static_cast<size_t>(node.attributes.get_int("xs")) : 0;
    std::vector<bool> kept(parts.body.inputs.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      kept[i] = i < parts.carries ? carries[i]
                                  : body_uses[static_cast<size_t>(parts.body.inputs[i])] > 0 ||
                                        (i < by_condition.size() && by_condition[i]);
    }
    keep_inputs(parts.body, kept);
    Attributes attributes = node.attributes;
    auto count_kept = [&](size_t first, size_t last) {
      return static_cast<int64_t>(std::count(kept.begin() + static_cast<int64_t>(first),
                                             kept.begin() + static_cast<int64_t>(last), true));
    };
    attributes.set("carries", count_kept(0, parts.carries));
    if (node.is("scan")) attributes.set("xs", count_kept(parts.carries, parts.carries + xs));
    if (node.is("while")) {
      Graph condition = node.attributes.get_graph("condition");
      keep_inputs(condition, kept);
      attributes.set("condition", std::make_shared<const Graph>(std::move(condition)));
    }
    attributes.set("body", std::make_shared<const Graph>(std::move(parts.body)));
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i >= kept.size() || kept[i]) {
        inputs.push_back(node.inputs[i]);
      } else {
        --uses(node.inputs[i]);
      }
    }
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    node.attributes = std::move(attributes);
  }

  static void keep_inputs(Graph& graph, const std::vector<bool>& kept) {
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) inputs.push_back(graph.inputs[i]);
    }
    graph.inputs = std::move(inputs);
  }

  Graph graph_;
  std::vector<int32_t> uses_;
};

}  // namespace

Graph prune_loops(const Graph& graph) {
  if (std::ranges::none_of(graph.nodes, is_loop)) return graph;
  return Pruner(graph).run();
}

}  // namespace cornu::passes
