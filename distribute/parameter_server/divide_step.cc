// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/divide_step.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "distribute/parameter_server/rows_ahead.h"
#include "framework/graph/passes/pass.h"

namespace cornu::distribute {
namespace {

// A value of the step, or some of its rows.
struct Part {
  ValueId value = kNoValue;
  std::optional<Rows> rows = {};
  // Computed from what the worker has read rather than from the servers' current values.
  bool as_read = false;
  auto operator<=>(const Part&) const = default;
};

// Marks the nodes that compute a variable's next value from its previous one in a way that can be
// applied to any value: a sum, a moving average, a multiple. Their other operands must not depend
// on the variable.
class Accumulations {
 public:
  explicit Accumulations(Graph& step) : step_(step), producers_(step.producers()) {}

  void mark() {
    for (const StateBinding& state : step_.states) {
      if (state.in != state.out) mark(state.out, state.in);
    }
  }

 private:
  Node* producer(ValueId value) {
    const int32_t node = producers_[static_cast<size_t>(value)];
    return node < 0 ? nullptr : &step_.nodes[static_cast<size_t>(node)];
  }

  bool mark(ValueId value, ValueId before) {
    Node* node = producer(value);
    if (!node) return false;
    bool marks = false;
    if (node->is("cast")) {
      marks = mark(node->inputs[0], before) || node->inputs[0] == before;
    } else if (node->is("add")) {
      marks = makes(*node, 0, before) || makes(*node, 1, before);
    } else if (node->is("subtract")) {
      marks = makes(*node, 0, before);
    } else if (node->is("multiply")) {
      marks = multiplies(*node, before);
    }
    node->updates = node->updates || marks;
    return marks;
  }

  // Whether one operand of a sum is the variable or a multiple of it, and the other doesn't depend
  // on it.
  bool makes(Node& sum, size_t operand, ValueId before) {
    const ValueId own = sum.inputs[operand];
    if (depends_on(sum.inputs[1 - operand], before)) return false;
    Node* node = producer(own);
    if (own == before) return true;
    if (!node || !node->is("multiply") || !multiplies(*node, before)) return false;
    return node->updates = true;
  }

  bool multiplies(const Node& node, ValueId before) {
    for (const size_t own : {0, 1}) {
      if (node.inputs[own] == before && !depends_on(node.inputs[1 - own], before)) return true;
    }
    return false;
  }

  bool depends_on(ValueId value, ValueId before) {
    std::vector<char> seen(step_.nodes.size(), 0);
    std::vector<ValueId> left = {value};
    while (!left.empty()) {
      const ValueId next = left.back();
      left.pop_back();
      if (next == before) return true;
      const int32_t node = producers_[static_cast<size_t>(next)];
      if (node < 0 || seen[static_cast<size_t>(node)]) continue;
      seen[static_cast<size_t>(node)] = 1;
      const std::vector<ValueId>& inputs = step_.nodes[static_cast<size_t>(node)].inputs;
      left.insert(left.end(), inputs.begin(), inputs.end());
    }
    return false;
  }

  Graph& step_;
  const std::vector<int32_t> producers_;
};

// What the divided parts share: the step, the producers of its values, and what the worker sends.
class Division {
 public:
  Division(const Graph& step, const PlacementOf& placement_of)
      : step_(step), producers_(step.producers()), states_(step.types.size(), -1) {
    for (size_t i = 0; i < step.states.size(); ++i) {
      placements_.push_back(placement_of(step.states[i].variable));
      states_[static_cast<size_t>(step.states[i].in)] = static_cast<int32_t>(i);
    }
  }

  const Graph& step() const { return step_; }
  const Placement& placement(size_t state) const { return placements_[state]; }
  // The state whose initial value this is.
  std::optional<size_t> state_of(ValueId value) const {
    const int32_t state = states_[static_cast<size_t>(value)];
    return state < 0 ? std::nullopt : std::optional(static_cast<size_t>(state));
  }
  const Node* producer(ValueId value) const {
    const int32_t node = producers_[static_cast<size_t>(value)];
    return node < 0 ? nullptr : &step_.nodes[static_cast<size_t>(node)];
  }

  // A state updated by the step from which a value is computed by updating nodes.
  std::optional<size_t> updated_before(ValueId value) const {
    std::set<ValueId> seen;
    return updated_before(value, seen);
  }
  std::optional<size_t> updated_before(ValueId value, std::set<ValueId>& seen) const {
    if (!seen.insert(value).second) return std::nullopt;
    if (const auto state = state_of(value)) {
      const bool is_updated = step_.states[*state].in != step_.states[*state].out;
      return is_updated ? state : std::nullopt;
    }
    const Node* node = producer(value);
    if (!node || !node->updates) return std::nullopt;
    for (const ValueId input : node->inputs) {
      if (const auto found = updated_before(input, seen)) return found;
    }
    return std::nullopt;
  }

  // Bytes to transfer for a value: its own size, or that of the operands from which cheap ops
  // compute it.
  size_t cost(ValueId value) {
    const auto [found, added] = costs_.emplace(value, step_.type(value).bytes());
    if (!added || !is_cheap(producer(value))) return found->second;
    size_t operands = 0;
    for (const ValueId operand : producer(value)->inputs) operands += cost(operand);
    return costs_[value] = std::min(costs_[value], operands);
  }
  // Whether a server should compute the value from smaller operands.
  bool is_made_of_less(ValueId value) {
    return is_cheap(producer(value)) && cost(value) < step_.type(value).bytes();
  }

  // The index of the sent part among the worker's outputs.
  size_t send(const Part& part) {
    const auto [found, added] =
        numbers_.emplace(std::pair(part.value, part.rows), step_.outputs.size() + sent_.size());
    if (added) sent_.push_back(part);
    return found->second;
  }
  const std::vector<Part>& sent() const { return sent_; }

 private:
  static bool is_cheap(const Node* node) {
    if (!node || node->outputs.size() != 1 || node->inputs.empty()) return false;
    return node->op->traits.elementwise || node->is("scatter_add") || node->is("broadcast_to") ||
           node->is("reshape");
  }

  const Graph& step_;
  std::vector<int32_t> producers_;
  std::vector<int32_t> states_;  // by value
  std::vector<Placement> placements_;
  std::vector<Part> sent_;
  std::map<std::pair<ValueId, std::optional<Rows>>, size_t> numbers_;
  std::map<ValueId, size_t> costs_;
};

// Rows of operands that have as many rows as the result; broadcast operands stay whole.
std::optional<Rows> rows_of_operand(const Graph& step, const Node& node, ValueId operand,
                                    const std::optional<Rows>& rows) {
  if (!rows) return std::nullopt;
  const Shape& whole = step.type(node.outputs[0]).shape;
  const Shape& own = step.type(operand).shape;
  return own.rank() == whole.rank() && own[0] == whole[0] ? rows : std::nullopt;
}

ValueId add_slice(Graph& graph, ValueId whole, const Rows& rows) {
  const Shape& shape = graph.type(whole).shape;
  std::vector<int64_t> begin(static_cast<size_t>(shape.rank()), 0);
  std::vector<int64_t> size = shape.dims();
  begin[0] = rows.begin;
  size[0] = rows.end - rows.begin;
  const std::vector<int64_t> strides(begin.size(), 1);
  return graph
      .add_node(OpRegistry::global().at("slice"), {whole},
                {{"begin", begin}, {"size", size}, {"strides", strides}})
      .front();
}

class ServerPart {
 public:
  ServerPart(Division& division, size_t server) : division_(division) { update_.server = server; }

  // Makes this server assign its shard of a state.
  void assign(size_t state, size_t shard) {
    const Placement& placement = division_.placement(state);
    const auto rows = is_divided(placement) ? std::optional(placement[shard].rows) : std::nullopt;
    const ValueId out = value({division_.step().states[state].out, rows});
    update_.graph.states[kept(state, shard)].out = out;
  }

  ServerUpdate take() { return std::move(update_); }

 private:
  // The shard of a state that is kept on this server and covers exactly these rows.
  std::optional<size_t> kept_shard(size_t state, const std::optional<Rows>& rows) const {
    const Placement& placement = division_.placement(state);
    if (!is_divided(placement)) {
      return placement[0].server == update_.server && !rows ? std::optional<size_t>(0)
                                                            : std::nullopt;
    }
    for (size_t i = 0; i < placement.size(); ++i) {
      if (placement[i].server == update_.server && rows && placement[i].rows == *rows) return i;
    }
    return std::nullopt;
  }

  // The index of the state in this server's graph.
  size_t kept(size_t state, size_t shard) {
    const auto [found, added] =
        states_.emplace(std::pair(state, shard), update_.graph.states.size());
    if (!added) return found->second;
    const StateBinding& whole = division_.step().states[state];
    TensorType type = division_.step().type(whole.in);
    const Placement& placement = division_.placement(state);
    if (is_divided(placement)) {
      type.shape[0] = placement[shard].rows.end - placement[shard].rows.begin;
    }
    const ValueId in = update_.graph.add_value(type);
    update_.graph.states.push_back({{}, whole.name, in, in});
    update_.states.push_back({whole.variable, shard});
    return found->second;
  }

  bool is_elementwise_along_rows(const Node& node) const {
    return node.op->traits.elementwise && node.outputs.size() == 1;
  }

  // Whether a part is computed by updating nodes from what this server keeps.
  bool depends_on_kept(const Part& part) {
    if (part.as_read) return false;
    if (const auto known = depends_.find(part); known != depends_.end()) return known->second;
    bool depends = false;
    if (const auto state = division_.state_of(part.value)) {
      depends = kept_shard(*state, part.rows).has_value();
    } else if (const Node* node = division_.producer(part.value);
               node && node->updates && (!part.rows || is_elementwise_along_rows(*node))) {
      depends = std::ranges::any_of(node->inputs, [&](ValueId operand) {
        return depends_on_kept(
            {operand, rows_of_operand(division_.step(), *node, operand, part.rows)});
      });
    }
    return depends_[part] = depends;
  }

  ValueId value(const Part& part) {
    if (const auto known = values_.find(part); known != values_.end()) return known->second;
    return values_[part] = made(part);
  }

  ValueId made(const Part& part) {
    const Node* node = division_.producer(part.value);
    if (depends_on_kept(part)) {
      const auto state = division_.state_of(part.value);
      if (!state) return computed(*node, part);
      return update_.graph.states[kept(*state, *kept_shard(*state, part.rows))].in;
    }
    const bool is_constant = node && node->is("constant");
    if (!is_constant && !division_.is_made_of_less(part.value)) return received(part);
    if (!part.as_read) return value({part.value, part.rows, true});
    if (!part.rows || is_elementwise_along_rows(*node)) return computed(*node, part);
    return add_slice(update_.graph, value({part.value, std::nullopt, true}), *part.rows);
  }

  ValueId computed(const Node& node, const Part& part) {
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(value(
          {operand, rows_of_operand(division_.step(), node, operand, part.rows), part.as_read}));
    }
    require_known_condition(node, part);
    const std::vector<ValueId> made =
        update_.graph.add_node(*node.op, std::move(operands), node.attributes);
    for (size_t i = 0; i < made.size(); ++i) {
      values_[{node.outputs[i], part.rows, part.as_read}] = made[i];
    }
    return values_.at(part);
  }

  // Records a variable that is updated elsewhere and determines what this server selects.
  void require_known_condition(const Node& node, const Part& part) {
    if (part.as_read || !node.is("select") || depends_on_kept({node.inputs[0]})) return;
    if (const auto state = division_.updated_before(node.inputs[0])) {
      update_.chooses_by = division_.step().states[*state].name;
    }
  }

  ValueId received(const Part& part) {
    TensorType type = division_.step().type(part.value);
    if (part.rows) type.shape[0] = part.rows->end - part.rows->begin;
    const ValueId input = update_.graph.add_value(type);
    update_.graph.inputs.push_back(input);
    update_.sent.push_back(division_.send(part));
    return input;
  }

  Division& division_;
  ServerUpdate update_;
  std::map<std::pair<size_t, size_t>, size_t> states_;
  std::map<Part, bool> depends_;
  std::map<Part, ValueId> values_;
};

// The step without states; its outputs are followed by what is sent.
void make_worker(const Division& division, DividedStep& divided) {
  Graph graph = division.step();
  const size_t own = graph.inputs.size();
  const std::vector<StateBinding> states = std::exchange(graph.states, {});
  for (const StateBinding& state : states) graph.inputs.push_back(state.in);
  for (const Part& part : division.sent()) {
    graph.outputs.push_back(part.rows ? add_slice(graph, part.value, *part.rows) : part.value);
  }
  graph = passes::eliminate_dead_nodes(std::move(graph));
  const std::vector<int32_t> uses = graph.use_counts();
  graph.inputs.resize(own);
  for (const StateBinding& state : states) {
    if (uses[static_cast<size_t>(state.in)] == 0) continue;
    graph.inputs.push_back(state.in);
    divided.read.push_back(state.variable);
  }
  divided.worker = std::move(graph);
  take_rows_ahead(divided, own);
}

}  // namespace

DividedStep divide_step(const Graph& traced, const PlacementOf& placement_of) {
  Graph step = traced;
  Accumulations(step).mark();
  Division division(step, placement_of);
  std::map<size_t, ServerPart> parts;
  for (size_t state = 0; state < step.states.size(); ++state) {
    if (step.states[state].in == step.states[state].out) continue;
    const Placement& placement = division.placement(state);
    for (size_t shard = 0; shard < placement.size(); ++shard) {
      const size_t server = placement[shard].server;
      parts.try_emplace(server, division, server).first->second.assign(state, shard);
    }
  }
  DividedStep divided;
  divided.results = step.outputs.size();
  for (auto& [server, part] : parts) divided.updates.push_back(part.take());
  make_worker(division, divided);
  return divided;
}

}  // namespace cornu::distribute
