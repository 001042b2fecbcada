// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/control.h"

#include <algorithm>

#include "framework/core/user_code.h"
#include "framework/graph/trace.h"
#include "framework/ops/collective.h"
#include "framework/ops/definition.h"
#include "framework/ops/loop_ops.h"
#include "framework/ops/math.h"
#include "framework/ops/random.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

Types output_types(const Graph& graph) {
  Types types;
  for (ValueId id : graph.outputs) types.push_back(graph.type(id));
  return types;
}

void require_operands(const Graph& graph, TypeSpan operands, std::string_view who) {
  check<InvalidArgument>(graph.inputs.size() == operands.size(),
                         "{}: expected {} operands, got {}.", who, graph.inputs.size(),
                         operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    check<InvalidArgument>(graph.type(graph.inputs[i]) == operands[i],
                           "{}: operand {} has another type than its graph takes.", who, i);
  }
}

Types infer_cond(TypeSpan inputs, const Attributes& attributes) {
  check<InvalidArgument>(
      !inputs.empty() && inputs[0] == TensorType{DType::Bool, {}},
      "cond: expected a bool scalar as predicate. Reduce it first, for example with ops::all.");
  const Graph& then = attributes.get_graph("then");
  const Graph& otherwise = attributes.get_graph("else");
  require_operands(then, inputs.subspan(1), "cond");
  require_operands(otherwise, inputs.subspan(1), "cond");
  const Types types = output_types(then);
  const Types others = output_types(otherwise);
  check<InvalidArgument>(types.size() == others.size(),
                         "cond: expected as many outputs of both branches, got {} and {}.",
                         types.size(), others.size());
  for (size_t i = 0; i < types.size(); ++i) {
    check<InvalidArgument>(
        types[i] == others[i],
        "cond: expected the same type from both branches as output {}, got {} {} "
        "and {} {}.",
        i, types[i].dtype, types[i].shape, others[i].dtype, others[i].shape);
  }
  return types;
}

// Sub-graphs whose inputs are `own` tensors, then a key if one of them draws random numbers, then
// the captures of all sub-graphs, in the same order.
class Branches {
 public:
  explicit Branches(std::vector<TensorType> own) : own_(std::move(own)) {}

  // `own_key`: the key is a separate input, shared by all branches. `carry`: variables may be
  // assigned.
  void trace_branch(const char* name, const LoopBody& body, bool own_key, bool carry) {
    TracedGraph traced = cornu::trace(own_, body,
                                      {.name = name,
                                       .allow_state = false,
                                       .carry_assignments = carry,
                                       .own_key = own_key,
                                       .draws = draws_});
    draws_ = traced.draws;
    draw_ = draw_ || traced.has_key;
    branches_.push_back(std::move(traced));
    for (const Tensor& capture : branches_.back().captures) add_capture(capture);
  }

  // The parts of variables that a branch assigns. Each becomes an additional output of all
  // branches: the value that the branch assigns, or the value from outside.
  void carry_assignments() {
    for (const TracedGraph& traced : branches_) {
      for (const auto& [variable, part, in, out, differs] : traced.followed) {
        if (find(assigned_, variable, part)) continue;
        assigned_.push_back({variable, part, read_part(variable, part)});
        add_capture(assigned_.back().before);
      }
    }
  }

  // Assigns the parts outside of the branches, from the last outputs.
  void assign(const std::vector<Tensor>& outputs) const {
    size_t next = outputs.size() - assigned_.size();
    for (const auto& [variable, part, before] : assigned_) {
      bool differs = false;
      for (const TracedGraph& traced : branches_) {
        const auto* followed = find(traced.followed, variable, part);
        differs |= followed && followed->differs ? *followed->differs : may_differ(variable);
      }
      assign_part(variable, part, outputs[next++], differs);
    }
  }
  size_t assigned() const { return assigned_.size(); }

  // The graph of a branch, which takes all captures. `gives_key`: after its own outputs it returns
  // the next iteration's key, if there is one (for a loop's body).
  std::shared_ptr<const Graph> graph(size_t branch, bool gives_key) {
    TracedGraph& traced = branches_[branch];
    Graph graph = traced.graph;
    const auto own = static_cast<int64_t>(own_.size());
    std::vector<ValueId> inputs(graph.inputs.begin(), graph.inputs.begin() + own);
    std::vector<ValueId> rest(graph.inputs.begin() + own, graph.inputs.end());
    if (draw_) {
      const ValueId key =
          traced.has_key ? rest.front() : graph.add_value({DType::UInt32, Shape{2}});
      if (traced.has_key) rest.erase(rest.begin());
      inputs.push_back(key);
      if (gives_key) graph.outputs.push_back(next_turns_key(graph, key));
    }
    for (const Tensor& capture : captures_) {
      ValueId id = kNoValue;
      for (size_t i = 0; i < traced.captures.size(); ++i) {
        if (same(traced.captures[i], capture)) id = rest[i];
      }
      inputs.push_back(id != kNoValue ? id : graph.add_value(type_of(capture)));
    }
    const size_t first_capture = inputs.size() - captures_.size();
    for (const auto& [variable, part, before] : assigned_) {
      const auto* followed = find(traced.followed, variable, part);
      graph.outputs.push_back(followed ? followed->out : inputs[first_capture + position(before)]);
    }
    graph.inputs = inputs;
    return std::make_shared<const Graph>(std::move(graph));
  }

  const TracedGraph& traced(size_t branch) const { return branches_[branch]; }
  const std::vector<Tensor>& captures() const { return captures_; }
  bool draw() const { return draw_; }

 private:
  struct Assigned {
    Variable variable;
    VariablePart part;
    Tensor before;
  };
  template <class Parts>
  static const typename Parts::value_type* find(const Parts& parts, const Variable& variable,
                                                VariablePart part) {
    const auto found = std::ranges::find_if(parts, [&](const auto& one) {
      return one.variable.id() == variable.id() && one.part == part;
    });
    return found == parts.end() ? nullptr : &*found;
  }
  static bool same(const Tensor& a, const Tensor& b) {
    if (!a.is_symbolic() || !b.is_symbolic()) return a.id() == b.id();
    return a.symbol_owner() == b.symbol_owner() && a.symbol_id() == b.symbol_id();
  }
  void add_capture(const Tensor& capture) {
    if (position(capture) == captures_.size()) captures_.push_back(capture);
  }
  size_t position(const Tensor& capture) const {
    size_t i = 0;
    while (i < captures_.size() && !same(captures_[i], capture)) ++i;
    return i;
  }

  std::vector<TensorType> own_;
  std::vector<TracedGraph> branches_;
  std::vector<Tensor> captures_;
  std::vector<Assigned> assigned_;
  bool draw_ = false;
  uint32_t draws_ = 0;
};

}  // namespace

void register_control(OpRegistry& registry) {
  registry.add({.name = "cond",
                .infer = infer_cond,
                .vjp = {},
                .traits = {.checks_values = true, .runs_graphs = true}});
}

Tensor stop_gradient(const Tensor& x) { return call<"stop_gradient">({x}); }

std::vector<Tensor> cond(const Tensor& predicate, const std::function<std::vector<Tensor>()>& then,
                         const std::function<std::vector<Tensor>()>& otherwise) {
  for (const auto& branch : {then, otherwise}) given_function(branch, "cond");
  if (any_placeholder({predicate})) {
    return apply_whole("cond", {predicate}, [then, otherwise](const std::vector<Tensor>& given) {
      return cond(given[0], then, otherwise);
    });
  }
  check<InvalidArgument>(predicate.rank() == 0,
                         "cond: expected a bool scalar as predicate, got one of shape {}. "
                         "Reduce it first, for example with ops::all.",
                         predicate.shape());
  const Tensor chosen = cast(predicate, DType::Bool);
  if (!chosen.is_symbolic()) return chosen.item<int>() ? then() : otherwise();
  Branches branches({});
  branches.trace_branch(
      "cond", [&](const std::vector<Tensor>&) { return then(); }, false, true);
  branches.trace_branch(
      "cond", [&](const std::vector<Tensor>&) { return otherwise(); }, false, true);
  branches.carry_assignments();
  for (const Tensor& capture : branches.captures()) {
    check<InvalidArgument>(!capture.is_symbolic() || is_traced(capture),
                           "cond: a branch uses a placeholder of shape {} that isn't given to it. "
                           "Give it as an operand of ops::switch_, or call cond within a layer (in "
                           "its call method).",
                           capture.shape());
  }
  std::vector<Tensor> inputs = {chosen};
  inputs.insert(inputs.end(), branches.captures().begin(), branches.captures().end());
  std::vector<Tensor> outputs =
      cornu::apply(op<"cond">(), inputs,
                   {{"then", branches.graph(0, false)}, {"else", branches.graph(1, false)}});
  branches.assign(outputs);
  outputs.resize(outputs.size() - branches.assigned());
  return outputs;
}

Tensor cond(const Tensor& predicate, const std::function<Tensor()>& then,
            const std::function<Tensor()>& otherwise) {
  const std::function<std::vector<Tensor>()> one = [f = given_function(then, "cond")] {
    return std::vector<Tensor>{f()};
  };
  const std::function<std::vector<Tensor>()> two = [f = given_function(otherwise, "cond")] {
    return std::vector<Tensor>{f()};
  };
  return cond(predicate, one, two).front();
}

namespace {

std::vector<Tensor> checked_body(const LoopBody& body, const std::vector<Tensor>& values) {
  std::vector<Tensor> next = body(values);
  for (Tensor& value : next) value = value.strong();
  require_kept_types(values, next, "while_loop", "value");
  return next;
}

// A part of a variable that a loop's body assigns, which is one more of the loop's values.
struct LoopPart {
  Variable variable;
  VariablePart part;
  bool differs;
};

// Adds the parts that the body's trace has assigned. Returns whether there were new ones.
bool add_assigned(std::vector<LoopPart>& parts, const TracedGraph& body) {
  const size_t before = parts.size();
  for (const TracedGraph::Followed& followed : body.followed) {
    const auto found = std::ranges::find_if(parts, [&](const LoopPart& known) {
      return known.variable.id() == followed.variable.id() && known.part == followed.part;
    });
    const bool differs = followed.differs.value_or(false) || may_differ(followed.variable);
    if (found == parts.end()) {
      parts.push_back({followed.variable, followed.part, differs});
    } else {
      found->differs |= differs;
    }
  }
  return parts.size() > before;
}

// A loop's condition and body, traced for its own values followed by those of `parts`.
class LoopBranches {
 public:
  LoopBranches(const LoopCondition& condition, const LoopBody& body,
               const std::vector<Tensor>& values, const std::vector<LoopPart>& parts)
      : own_(values.size()), parts_(parts), branches_(types_of(values, parts)) {
    // Without parts, a condition that assigns a variable is an error.
    branches_.trace_branch(
        "while_loop",
        [&](const std::vector<Tensor>& inputs) {
          return std::vector<Tensor>{cast(condition(own_values(inputs)), DType::Bool)};
        },
        true, !parts.empty());
    branches_.trace_branch(
        "while_loop",
        [&](const std::vector<Tensor>& inputs) {
          std::vector<Tensor> next = checked_body(body, own_values(inputs));
          for (const LoopPart& part : parts_) next.push_back(read_part(part.variable, part.part));
          return next;
        },
        true, true);
  }

  Branches& branches() { return branches_; }
  const TracedGraph& body() const { return branches_.traced(1); }

 private:
  static std::vector<TensorType> types_of(const std::vector<Tensor>& values,
                                          const std::vector<LoopPart>& parts) {
    std::vector<TensorType> types;
    for (const Tensor& value : values) types.push_back(type_of(value));
    for (const LoopPart& part : parts)
      types.push_back(type_of(read_part(part.variable, part.part)));
    return types;
  }

  // In a trace: gives the variables the values of this iteration.
  std::vector<Tensor> own_values(const std::vector<Tensor>& inputs) const {
    for (size_t i = 0; i < parts_.size(); ++i) {
      assign_part(parts_[i].variable, parts_[i].part, inputs[own_ + i], parts_[i].differs);
    }
    return {inputs.begin(), inputs.begin() + static_cast<int64_t>(own_)};
  }

  size_t own_;
  const std::vector<LoopPart>& parts_;
  Branches branches_;
};

// The body is traced again if it turns out to assign variables, whose values are the loop's then.
std::vector<Tensor> traced_loop(const LoopCondition& condition, const LoopBody& body,
                                std::vector<Tensor> values, std::optional<int64_t> most) {
  std::vector<LoopPart> parts;
  std::optional<LoopBranches> traced;
  do {
    traced.emplace(condition, body, values, parts);
  } while (add_assigned(parts, traced->body()));
  Branches& branches = traced->branches();
  const size_t count = values.size();
  for (const LoopPart& part : parts) values.push_back(read_part(part.variable, part.part));
  if (branches.draw()) values.push_back(random_bits(Seed().key(), Shape{2}));
  const auto carries = static_cast<int64_t>(values.size());
  values.insert(values.end(), branches.captures().begin(), branches.captures().end());
  std::vector<Tensor> outputs =
      apply_loop(op<"while">(), values,
                 {{"body", branches.graph(1, true)},
                  {"carries", carries},
                  {"condition", branches.graph(0, false)},
                  {"maximum", most ? std::max(*most, int64_t{0}) : int64_t{-1}},
                  {"saves", false}});
  for (size_t i = 0; i < parts.size(); ++i) {
    assign_part(parts[i].variable, parts[i].part, outputs[count + i], parts[i].differs);
  }
  outputs.resize(count);
  return outputs;
}

}  // namespace

std::vector<Tensor> while_loop(const LoopCondition& condition, const LoopBody& body,
                               const std::vector<Tensor>& loop_vars,
                               std::optional<int64_t> maximum_iterations) {
  given_function(condition, "while_loop");
  given_function(body, "while_loop");
  if (any_placeholder(loop_vars)) {
    return apply_whole("while_loop", loop_vars,
                       [condition, body, maximum_iterations](const std::vector<Tensor>& given) {
                         return while_loop(condition, body, given, maximum_iterations);
                       });
  }
  std::vector<Tensor> values;
  for (const Tensor& value : loop_vars) values.push_back(value.strong());
  if (current_tracer()) return traced_loop(condition, body, std::move(values), maximum_iterations);
  for (int64_t turn = 0; turn < maximum_iterations.value_or(turn + 1); ++turn) {
    if (!cast(condition(values), DType::Bool).item<int>()) break;
    values = checked_body(body, values);
  }
  return values;
}

}  // namespace cornu::ops
