// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/loop_ops.h"

#include <algorithm>
#include <array>
#include <memory>

#include "framework/graph/passes/pass.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/random.h"
#include "framework/ops/register.h"

namespace cornu::ops {

using namespace internal;

namespace {

size_t checked_count(const Attributes& attributes, std::string_view name, size_t most,
                     std::string_view who) {
  const int64_t count = attributes.get_int(name);
  check<InvalidArgument>(count >= 0 && count <= static_cast<int64_t>(most),
                         "{}: expected a number of {} in [0, {}], got {}.", who, name, most, count);
  return static_cast<size_t>(count);
}

void require_operand(const Graph& graph, size_t index, const TensorType& given,
                     std::string_view who) {
  const TensorType& taken = graph.type(graph.inputs[index]);
  check<InvalidArgument>(taken == given,
                         "{}: its graph takes {} {} as input {}, but it is given {} {}.", who,
                         taken.dtype, taken.shape, index, given.dtype, given.shape);
}

void require_no_states(const Graph& graph, std::string_view who) {
  check<InvalidArgument>(graph.states.empty(),
                         "{}: expected a graph without states, got one with {}.", who,
                         graph.states.size());
}

void require_same_count(size_t expected, size_t got, std::string_view who) {
  check<InvalidArgument>(expected == got, "{}: expected {} operands, got {}.", who, expected, got);
}

// The types of a loop's outputs: those of the carries, which the body must keep, then `between`,
// then those of the stacks.
Types loop_outputs(const Graph& body, TypeSpan carries, const Types& between, int64_t length,
                   std::string_view who) {
  check<InvalidArgument>(body.outputs.size() >= carries.size(),
                         "{}: expected a body that gives {} carries, got {} outputs.", who,
                         carries.size(), body.outputs.size());
  Types types(carries.begin(), carries.end());
  types.insert(types.end(), between.begin(), between.end());
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    const TensorType& type = body.type(body.outputs[i]);
    if (i < carries.size()) {
      check<InvalidArgument>(type == carries[i],
                             "{}: expected a body that keeps types, but carry {} was {} {} and "
                             "became {} {}.",
                             who, i, carries[i].dtype, carries[i].shape, type.dtype, type.shape);
      continue;
    }
    types.push_back({type.dtype, Shape({length}).concat(type.shape)});
    require_sizes(types.back().shape, who);
  }
  return types;
}

Types infer_scan(TypeSpan inputs, const Attributes& attributes) {
  const Graph& body = attributes.get_graph("body");
  const bool counted = attributes.get_bool("counted");
  const int64_t length = attributes.get_int("length");
  require_no_states(body, "scan");
  require_same_count(body.inputs.size() + (counted ? 1 : 0), inputs.size(), "scan");
  const size_t carries = checked_count(attributes, "carries", body.inputs.size(), "scan");
  const size_t xs = checked_count(attributes, "xs", body.inputs.size() - carries, "scan");
  check<InvalidArgument>(length >= 0, "scan: expected a length of at least 0, got {}.", length);
  check<InvalidArgument>(!counted || inputs.back() == TensorType{DType::Int64, {}},
                         "scan: expected an int64 scalar as number of turns.");
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    TensorType given = inputs[i];
    if (i >= carries && i < carries + xs) {
      check<InvalidArgument>(given.shape.rank() >= 1 && given.shape[0] == length,
                             "scan: expected xs of {} slices along axis 0, got shape {}.", length,
                             given.shape);
      given.shape = given.shape.slice(1);
    }
    require_operand(body, i, given, "scan");
  }
  return loop_outputs(body, inputs.first(carries), {}, length, "scan");
}

Types infer_while(TypeSpan inputs, const Attributes& attributes) {
  const Graph& condition = attributes.get_graph("condition");
  const Graph& body = attributes.get_graph("body");
  const size_t variables = checked_count(attributes, "carries", inputs.size(), "while_loop");
  const int64_t maximum = attributes.get_int("maximum");
  require_no_states(condition, "while_loop");
  require_no_states(body, "while_loop");
  require_same_count(condition.inputs.size(), inputs.size(), "while_loop");
  require_same_count(body.inputs.size(), inputs.size(), "while_loop");
  for (size_t i = 0; i < inputs.size(); ++i) {
    require_operand(condition, i, inputs[i], "while_loop");
    require_operand(body, i, inputs[i], "while_loop");
  }
  check<InvalidArgument>(condition.outputs.size() == 1 &&
                             condition.type(condition.outputs[0]) == TensorType{DType::Bool, {}},
                         "while_loop: expected a condition that gives a bool scalar.");
  check<InvalidArgument>(maximum >= 0 || body.outputs.size() <= variables,
                         "while_loop: expected a bound where turns are stacked.");
  return loop_outputs(body, inputs.first(variables), {{DType::Int64, {}}},
                      std::max(maximum, int64_t{0}), "while_loop");
}

bool is_loop(const Node& node) { return node.is("scan") || node.is("while"); }

bool is_bounded(const Attributes& loop) {
  return !loop.find("maximum") || loop.get_int("maximum") >= 0;
}

// A body that returns everything its gradient needs as additional ys: the values of the carries at
// the beginning of the iteration, and all values that are cheaper to save than to recompute.
Graph saving_body(Graph body, size_t carries) {
  for (Node& node : body.nodes) {
    if (!is_loop(node) || node.attributes.get_bool("saves") || !is_bounded(node.attributes)) {
      continue;
    }
    node.attributes = saving(node.attributes);
    Types types;
    for (ValueId id : node.inputs) types.push_back(body.type(id));
    types = node.op->infer(types, node.attributes);
    for (size_t i = node.outputs.size(); i < types.size(); ++i) {
      node.outputs.push_back(body.add_value(types[i]));
    }
  }
  std::vector<bool> given(body.types.size(), false);
  for (size_t i = carries; i < body.outputs.size(); ++i) {
    given[static_cast<size_t>(body.outputs[i])] = true;
  }
  auto give = [&](ValueId id) {
    if (given[static_cast<size_t>(id)]) return;
    given[static_cast<size_t>(id)] = true;
    body.outputs.push_back(id);
  };
  for (size_t i = 0; i < carries; ++i) give(body.inputs[i]);
  const std::vector<bool> recomputed = recomputed_nodes(body);
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    if (recomputed[i]) continue;
    for (ValueId id : body.nodes[i].outputs) give(id);
  }
  return body;
}

bool has_own_life(const Node& node) {
  const OpTraits traits = node.traits();
  return traits.collective || traits.has_effect || traits.checks_values;
}

// Moves loop-invariant values out of a body: they are computed outside and captured.
class Hoist {
 public:
  Hoist(Graph& body, std::vector<Tensor>& captures, size_t first_capture)
      : body_(body), captures_(captures), outside_(body.types.size()), made_by_(body.producers()) {
    kinds_.assign(body.types.size(), Kind::Changing);
    for (size_t i = 0; i < captures.size(); ++i) {
      const ValueId id = body.inputs[first_capture + i];
      kind(id) = Kind::Captured;
      outside_[static_cast<size_t>(id)] = captures[i];
    }
  }

  void run() {
    for (const Node& node : body_.nodes) classify(node);
    const std::vector<Node> nodes = std::exchange(body_.nodes, {});
    for (const Node& node : nodes) {
      if (kind(node.outputs.front()) == Kind::Hoisted) continue;
      for (ValueId id : node.inputs) read(id, nodes);
      body_.nodes.push_back(node);
    }
    for (ValueId id : body_.outputs) read(id, nodes);
  }

 private:
  // The kinds of values: Constant ones are computed from constants only, Captured ones are inputs,
  // and Spread ones are broadcast from invariant ones, which costs a kernel less than reading them
  // from memory.
  enum class Kind { Changing, Constant, Captured, Hoisted, Spread };
  Kind& kind(ValueId id) { return kinds_[static_cast<size_t>(id)]; }

  void classify(const Node& node) {
    Kind result = Kind::Constant;
    for (ValueId id : node.inputs) {
      if (kind(id) == Kind::Changing) result = Kind::Changing;
      if (kind(id) != Kind::Constant && result == Kind::Constant) result = Kind::Hoisted;
    }
    if (node.outputs.empty() || has_own_life(node)) result = Kind::Changing;
    if (result == Kind::Hoisted && node.is("broadcast_to")) result = Kind::Spread;
    for (ValueId id : node.outputs) kind(id) = result;
  }

  // Called for a value that is read by a node that stays in the body.
  void read(ValueId id, const std::vector<Node>& nodes) {
    if (kind(id) != Kind::Hoisted) return;
    captures_.push_back(outside(id, nodes));
    body_.inputs.push_back(id);
    kind(id) = Kind::Captured;
  }

  Tensor outside(ValueId id, const std::vector<Node>& nodes) {
    Tensor& known = outside_[static_cast<size_t>(id)];
    if (known.defined()) return known;
    const Node& node = nodes[static_cast<size_t>(made_by_[static_cast<size_t>(id)])];
    std::vector<Tensor> inputs;
    for (ValueId input : node.inputs) inputs.push_back(outside(input, nodes));
    const std::vector<Tensor> outputs = node.is("constant")
                                            ? std::vector{node.attributes.get_tensor("value")}
                                            : cornu::apply(*node.op, inputs, node.attributes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outside_[static_cast<size_t>(node.outputs[i])] = outputs[i];
    }
    return known;
  }

  Graph& body_;
  std::vector<Tensor>& captures_;
  std::vector<Tensor> outside_;  // by value: its value outside of the body
  std::vector<int32_t> made_by_;
  std::vector<Kind> kinds_;
};

// Removes those operands from index `first` on that the body doesn't read.
void drop_unread(Graph& body, std::vector<Tensor>& operands, size_t first, size_t& xs) {
  const std::vector<int32_t> uses = body.use_counts();
  std::vector<ValueId> inputs;
  std::vector<Tensor> kept;
  const size_t last_x = first + xs;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    if (i >= first && uses[static_cast<size_t>(body.inputs[i])] == 0) {
      if (i < last_x) --xs;
      continue;
    }
    inputs.push_back(body.inputs[i]);
    kept.push_back(operands[i]);
  }
  body.inputs = std::move(inputs);
  operands = std::move(kept);
}

std::vector<TensorType> turn_types(const ScanPlan& plan) {
  std::vector<TensorType> types;
  for (const Tensor& carry : plan.init) types.push_back(type_of(carry));
  for (const Tensor& x : plan.xs) types.push_back({x.dtype(), x.shape().slice(1)});
  return types;
}

// A traced body whose keys and variables were turned into ordinary carries and captures.
struct LoopBodyParts {
  Graph graph;
  std::vector<Tensor> carries;  // following the plan's own carries
  std::vector<Tensor> captures;
  struct Assigned {
    Variable variable;
    VariablePart part;
    std::optional<size_t> carry;  // index in `carries`; nullopt if never changed
    bool differs;
  };
  std::vector<Assigned> assigned;
};

LoopBodyParts parts_of(TracedGraph traced, size_t own_carries, size_t xs) {
  LoopBodyParts parts;
  Graph& graph = traced.graph;
  const auto given = graph.inputs.begin() + static_cast<int64_t>(own_carries);
  const auto slices_end = given + static_cast<int64_t>(xs);
  std::vector<ValueId> inputs(graph.inputs.begin(), given);
  std::vector<ValueId> outputs(graph.outputs.begin(),
                               graph.outputs.begin() + static_cast<int64_t>(own_carries));
  const std::vector<ValueId> ys(graph.outputs.begin() + static_cast<int64_t>(own_carries),
                                graph.outputs.end());
  std::vector<ValueId> captured(slices_end, graph.inputs.end());
  parts.captures = traced.captures;
  if (traced.has_key) {
    inputs.push_back(captured.front());
    outputs.push_back(next_turns_key(graph, captured.front()));
    captured.erase(captured.begin());
    parts.carries.push_back(random_bits(Seed().key(), Shape{2}));
  }
  for (const auto& [variable, part, in, out, differs] : traced.followed) {
    const bool changes = in != out;
    (changes ? inputs : captured).push_back(in);
    (changes ? parts.carries : parts.captures).push_back(read_part(variable, part));
    if (changes) outputs.push_back(out);
    if (!changes && !differs) continue;
    // There may be no iteration.
    parts.assigned.push_back({variable, part, {}, differs.value_or(false) || may_differ(variable)});
    if (changes) parts.assigned.back().carry = parts.carries.size() - 1;
  }
  inputs.insert(inputs.end(), given, slices_end);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  outputs.insert(outputs.end(), ys.begin(), ys.end());
  graph.inputs = std::move(inputs);
  graph.outputs = std::move(outputs);
  graph.states.clear();
  parts.graph = passes::eliminate_dead_nodes(std::move(graph));
  return parts;
}

}  // namespace

namespace internal {

// Ops are counted in the key's first word, iterations in its second.
ValueId next_turns_key(Graph& graph, ValueId key) {
  const ValueId one =
      graph.add_node(op<"constant">(), {}, {{"value", Tensor::from<uint32_t>({0, 1})}}).front();
  return graph.add_node(op<"add">(), {key, one}).front();
}

std::vector<bool> recomputed_nodes(const Graph& body) {
  constexpr std::array kArranging = {"reshape", "broadcast_to", "transpose", "identity",
                                     "stop_gradient"};
  std::vector<bool> constant(body.types.size(), false);
  std::vector<bool> result;
  for (const Node& node : body.nodes) {
    const bool of_constants =
        !has_own_life(node) && std::ranges::all_of(node.inputs, [&](ValueId id) {
          return constant[static_cast<size_t>(id)];
        });
    for (ValueId id : node.outputs) constant[static_cast<size_t>(id)] = of_constants;
    result.push_back(of_constants || std::ranges::any_of(kArranging, [&](const char* name) {
                       return node.is(name);
                     }));
  }
  return result;
}

Attributes saving(const Attributes& loop) {
  Attributes result = loop;
  const auto carries = static_cast<size_t>(loop.get_int("carries"));
  result.set("body", std::make_shared<const Graph>(saving_body(loop.get_graph("body"), carries)));
  result.set("saves", true);
  return result;
}

void require_kept_types(const std::vector<Tensor>& before, const std::vector<Tensor>& after,
                        std::string_view who, std::string_view what) {
  check<InvalidArgument>(after.size() == before.size(),
                         "{}: expected a body that gives {} {}s, got {}.", who, before.size(), what,
                         after.size());
  for (size_t i = 0; i < after.size(); ++i) {
    check<InvalidArgument>(
        type_of(after[i]) == type_of(before[i]),
        "{}: expected a body that keeps types, but {} {} was {} {} and became {} {}.", who, what, i,
        before[i].dtype(), before[i].shape(), after[i].dtype(), after[i].shape());
  }
}

std::vector<Tensor> apply_loop(const OpDef& op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes) {
  const bool saves = is_bounded(attributes) && is_followed(inputs, {});
  return cornu::apply(op, inputs, saves ? saving(attributes) : attributes);
}

ScanResult traced_scan(const ScanFunction& f, const ScanPlan& plan) {
  size_t ys = 0;
  auto body = [&](const std::vector<Tensor>& inputs) {
    const auto middle = inputs.begin() + static_cast<int64_t>(plan.init.size());
    ScanResult turn = f({inputs.begin(), middle}, {middle, inputs.end()});
    for (Tensor& carry : turn.carries) carry = carry.strong();
    require_kept_types(plan.init, turn.carries, plan.who, plan.what);
    ys = turn.ys.size();
    std::vector<Tensor> outputs = turn.carries;
    for (const Tensor& y : turn.ys) outputs.push_back(y.strong());
    return outputs;
  };
  // Without an enclosing trace, only tensors with values can be captured.
  TracedGraph traced =
      cornu::trace(turn_types(plan), body,
                   {.name = std::string(plan.who), .capture_values = current_tracer() == nullptr});
  LoopBodyParts parts = parts_of(std::move(traced), plan.init.size(), plan.xs.size());
  std::vector<Tensor> inputs = plan.init;
  inputs.insert(inputs.end(), parts.carries.begin(), parts.carries.end());
  const size_t carries = inputs.size();
  size_t xs = plan.xs.size();
  inputs.insert(inputs.end(), plan.xs.begin(), plan.xs.end());
  Hoist(parts.graph, parts.captures, carries + xs).run();
  inputs.insert(inputs.end(), parts.captures.begin(), parts.captures.end());
  drop_unread(parts.graph, inputs, carries, xs);
  if (plan.count.defined()) inputs.push_back(plan.count);
  const std::vector<Tensor> outputs =
      apply_loop(op<"scan">(), inputs,
                 {{"body", std::make_shared<const Graph>(std::move(parts.graph))},
                  {"carries", static_cast<int64_t>(carries)},
                  {"counted", plan.count.defined()},
                  {"length", plan.length},
                  {"reverse", plan.reverse},
                  {"saves", false},
                  {"xs", static_cast<int64_t>(xs)}});
  const size_t own = plan.init.size();
  for (const auto& [variable, part, carry, differs] : parts.assigned) {
    // When replicas' values are combined at the end of a step, those that are unchanged count, too.
    assign_part(variable, part, carry ? outputs[own + *carry] : read_part(variable, part), differs);
  }
  const auto stacked = outputs.begin() + static_cast<int64_t>(carries);
  return {{outputs.begin(), outputs.begin() + static_cast<int64_t>(own)},
          {stacked, stacked + static_cast<int64_t>(ys)}};
}

}  // namespace internal

void register_loops(OpRegistry& registry) {
  const OpTraits traits = {.checks_values = true, .runs_graphs = true};
  registry.add({.name = "scan", .infer = infer_scan, .vjp = {}, .traits = traits});
  registry.add({.name = "while", .infer = infer_while, .vjp = {}, .traits = traits});
}

}  // namespace cornu::ops
