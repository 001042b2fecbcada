// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/trace.h"

#include <algorithm>
#include <deque>

#include "framework/core/at_end.h"
#include "framework/core/zeros.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/remat_region.h"

namespace cornu {
namespace {

bool reads(const Graph& graph, ValueId value) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return std::ranges::find(node.inputs, value) != node.inputs.end();
  });
}

class Trace : public Tracer, public VariableHooks, public std::enable_shared_from_this<Trace> {
 public:
  explicit Trace(const TraceOptions& options) : options_(options) {}

  // A function runs on the device of its variables, so new ones are created there.
  std::optional<Device> variable_device() const override {
    if (!graph_.states.empty()) return graph_.states.front().variable.device();
    return outer_ ? outer_->variable_device() : std::nullopt;
  }

  Tensor add_input(const TensorType& type) {
    require_numbers(type.dtype);
    const ValueId id = graph_.add_value(type);
    graph_.inputs.push_back(id);
    ++own_inputs_;
    return symbol(id);
  }

  TracedDraw next_draw() {
    if (!options_.own_key && outer_) return outer_->next_draw();
    if (key_ == kNoValue) key_ = graph_.add_value({DType::UInt32, Shape{2}});
    return {symbol(key_), options_.draws++};
  }

  Tensor replica_value(ReplicaValue which) {
    if (outer_) return outer_->replica_value(which);
    for (const auto& [value, id] : replica_values_) {
      if (value == which) return symbol(id);
    }
    replica_values_.emplace_back(which, graph_.add_value({DType::Int64, Shape{}}));
    return symbol(replica_values_.back().second);
  }

  Tensor sum_of_known(double own) {
    if (outer_) return outer_->sum_of_known(own);
    replica_sums_.emplace_back(own, graph_.add_value({DType::Float64, Shape{}}));
    return symbol(replica_sums_.back().second);
  }

  std::string describe(int64_t id) const override {
    constexpr char kMend[] = "ops::where and ops::cond choose by a value there";
    if (is_inferring_types()) {
      return fmt::format("a value of a call on shapes alone, before any data ({})", kMend);
    }
    return fmt::format("value %{} of '{}' while it is traced ({})", id, options_.name, kMend);
  }

  std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) override {
    check_open(op.name);
    std::vector<ValueId> ids;
    ids.reserve(inputs.size());
    for (const Tensor& input : inputs) ids.push_back(value_of(input));
    const auto outputs = graph_.add_node(op, std::move(ids), attributes);
    graph_.nodes.back().scope = NameScope::current();
    graph_.nodes.back().updates = updating_replicas();
    graph_.nodes.back().region = RematRegion::current();
    graph_.nodes.back().of_gradient = GradientScope::is_active();
    std::vector<Tensor> result;
    for (ValueId id : outputs) result.push_back(symbol(id));
    return result;
  }

  void leave_region(int64_t region) {
    auto& nodes = graph_.nodes;
    const auto ends_it = [&](const Node& node) {
      return node.region != region && !node.is("constant");
    };
    for (size_t i = nodes.size(); i-- > 0 && !ends_it(nodes[i]);) nodes[i].region = 0;
  }

  Tensor read(const Variable& variable) override { return read(variable, VariablePart::Value); }

  Tensor read(const Variable& variable, VariablePart part) {
    if (const Followed* known = find(variable, part)) return known->value;
    if (options_.allow_state) return follow(variable, part).value;
    if (part != VariablePart::Value) return outer_->read(variable, part);
    return outer_hooks_ ? outer_hooks_->read(variable) : variable.stored();
  }

  void assign(const Variable& variable, const Tensor& value) override {
    assign(variable, value, is_merged(variable) ? Assigned::Merged : Assigned::Own);
  }
  void assign_sum(const Variable& variable, const Tensor& value) override {
    mark_sum(variable, value);
    assign(variable, value, is_merged(variable) ? Assigned::Merged : Assigned::Sum);
  }

  // `differs` applies to values.
  void set(const Variable& variable, VariablePart part, const Tensor& value, bool differs) {
    Followed& known = follow(variable, part);
    if (part != VariablePart::Replaced) CORNU_ASSERT(value.dtype(), ==, variable.dtype());
    // A flag that is known while tracing stays known: the end of the step then needs no selection.
    known.value = part == VariablePart::Replaced ? value : symbol(assigned_id(value, known.in));
    if (part == VariablePart::Value) known.differs = differs;
  }

  bool may_differ(const Variable& variable) const {
    const Followed* known = find(variable, VariablePart::Value);
    if (known && known->differs) return *known->differs;
    return outer_ && outer_->may_differ(variable);
  }

  std::vector<bool> may_differ(const std::vector<Tensor>& values) const {
    enum class Of { Constants, Shared, Replica };  // what a value depends on
    std::vector<Of> origins(graph_.types.size(), Of::Shared);
    const auto at = [&](int64_t id) -> Of& { return origins[static_cast<size_t>(id)]; };
    for (int64_t i = 0; i < own_inputs_; ++i)
      at(graph_.inputs[static_cast<size_t>(i)]) = Of::Replica;
    for (const auto& [value, id] : replica_values_) at(id) = Of::Replica;
    for (const Followed& known : followed_) {
      const bool is_own = known.variable.synchronization() == VariableSynchronization::OnRead;
      if (known.in != kNoValue && is_own) at(known.in) = Of::Replica;
    }
    for (const Node& node : graph_.nodes) {
      Of origin = Of::Constants;
      for (const ValueId id : node.inputs) origin = std::max(origin, at(id));
      if (node.op->traits.collective) origin = Of::Shared;
      for (const ValueId id : node.outputs) at(id) = origin;
    }
    std::vector<bool> result;
    for (const Tensor& value : values) {
      result.push_back(!value.is_symbolic() || at(value.symbol_id()) != Of::Shared);
    }
    return result;
  }

  TracedGraph finish(const std::vector<Tensor>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      check<InvalidArgument>(outputs[i].defined(),
                             "Function '{}': expected a tensor as output {}, got an undefined one.",
                             options_.name, i);
      graph_.outputs.push_back(value_of(outputs[i]));
    }
    TracedGraph result;
    auto state = graph_.states.begin();
    for (const Followed& known : followed_) {
      if (!outer_ && known.part != VariablePart::Value) continue;  // the step has ended
      const ValueId out = value_of(known.value);
      if (options_.allow_state && known.part == VariablePart::Value) (state++)->out = out;
      result.followed.push_back({known.variable, known.part, known.in, out, known.differs});
    }
    bring_inputs(result);
    result.graph = passes::rematerialize(std::move(graph_));
    result.captures = std::move(captures_);
    result.has_key = key_ != kNoValue;
    result.draws = options_.draws;
    return result;
  }

  // Prepends the inputs that aren't arguments. A sum that nothing reads was created in a trace that
  // was given up, which other replicas may not have had.
  void bring_inputs(TracedGraph& result) {
    std::vector<ValueId> brought;
    if (key_ != kNoValue) brought.push_back(key_);
    for (const auto& [value, id] : replica_values_) {
      brought.push_back(id);
      result.replica_values.push_back(value);
    }
    for (const auto& [own, id] : replica_sums_) {
      if (!reads(graph_, id)) continue;
      brought.push_back(id);
      result.replica_sums.push_back(own);
    }
    graph_.inputs.insert(graph_.inputs.begin() + own_inputs_, brought.begin(), brought.end());
  }

  // Combines the values that replicas have assigned to variables separately, in one collective.
  void reduce_assigned() {
    if (outer_ || !options_.allow_state || replicas_in_sync() == 1) return;
    std::vector<Followed*> reduced;
    for (Followed& known : followed_) {
      if (known.differs.value_or(false) && is_made_one(known.variable)) reduced.push_back(&known);
    }
    if (reduced.empty()) return;
    std::vector<Tensor> parts;
    for (const Followed* known : reduced) parts.push_back(as_number(part_of(*known)));
    parts.push_back(Tensor::scalar(current_replica()->examples > 0 ? 1.0f : 0.0f));
    // Included even if known in this replica's trace: it may be unknown in another one's, and all
    // must reduce the same parts.
    for (const Followed* known : reduced) {
      if (counts(known->variable, VariablePart::Replaced)) {
        const Tensor replaced = read(known->variable, VariablePart::Replaced);
        parts.push_back(apply_op("cast", {replaced}, {{"dtype", DType::Float32}}).front());
      }
    }
    const std::vector<Tensor> sums =
        apply_op("all_reduce", parts, {{"reduce", std::string("sum")}});
    auto sum = sums.begin();
    const Tensor& count = sums[reduced.size()];
    auto replacing = sums.begin() + static_cast<int64_t>(reduced.size()) + 1;
    for (Followed* known : reduced) {
      const bool may_replace = counts(known->variable, VariablePart::Replaced);
      const Tensor replaced =
          may_replace ? apply_op("greater", {*replacing++, Tensor::scalar(0.0f)}).front()
                      : Tensor::scalar(false);
      const Tensor whole = whole_of(*known, *sum++, count, replaced);
      known->value = known->variable.dtype() == DType::Bool
                         ? apply_op("cast", {whole}, {{"dtype", DType::Bool}}).front()
                         : whole;
    }
  }

  // Ends the trace, even a failed one. The variables' symbols own this trace: breaks the cycle.
  void close() {
    closed_ = true;
    followed_.clear();
  }

 private:
  void check_open(std::string_view who) const {
    check<FailedPrecondition>(!closed_,
                              "{}: got a value of '{}', whose trace has ended. Return it from the "
                              "traced function instead of keeping it.",
                              who, options_.name);
  }

  // The current state of a part of a variable.
  struct Followed {
    Variable variable;
    VariablePart part;
    ValueId in;
    Tensor value;
    std::optional<bool> differs;  // as in TracedGraph
  };

  // How a replica assigns a variable.
  enum class Assigned {
    Sum,     // by assign_add and assign_sub
    Own,     // its own value, even if equal to the previous one
    Merged,  // in a merge_call: the same on all replicas
  };

  void assign(const Variable& variable, const Tensor& value, Assigned how) {
    set(variable, VariablePart::Value, value, how != Assigned::Merged);
    if (how == Assigned::Merged && counts(variable, VariablePart::Base)) {
      set(variable, VariablePart::Base, read(variable, VariablePart::Value), false);
    }
    if (how != Assigned::Sum && counts(variable, VariablePart::Replaced)) {
      set(variable, VariablePart::Replaced, Tensor::scalar(how == Assigned::Own), false);
    }
  }

  // Marks the node, created last, that adds to the variable's current value.
  void mark_sum(const Variable& variable, const Tensor& sum) {
    const Followed* known = find(variable, VariablePart::Value);
    if (!known || !sum.is_symbolic() || graph_.nodes.empty()) return;
    Node& last = graph_.nodes.back();
    const auto before = static_cast<ValueId>(known->value.symbol_id());
    last.updates = last.updates || (last.outputs.front() == sum.symbol_id() &&
                                    std::ranges::find(last.inputs, before) != last.inputs.end());
  }

  // Whether a value assigned now is the same on all replicas.
  bool is_merged(const Variable& variable) const {
    return merging_replicas() || (updating_replicas() && !may_differ(variable));
  }

  // The id that reads of a variable return after `value` was assigned. Inside a branch or body no
  // gradient flows through it: its graph is differentiated by values, whereas reads in
  // straight-line code are separate symbols.
  ValueId assigned_id(const Tensor& value, ValueId before) {
    const ValueId id = value_of(value);
    if (!outer_ || id == before) return id;
    return value_of(apply_op("stop_gradient", {value}).front());
  }

  // Whether the replicas' assigned values are combined at the end of a step.
  static bool is_made_one(const Variable& variable) {
    return replicas_in_sync() > 1 &&
           variable.synchronization() != VariableSynchronization::OnRead &&
           variable.aggregation() != VariableAggregation::None;
  }

  // Whether the combination depends on this part.
  static bool counts(const Variable& variable, VariablePart part) {
    const VariableAggregation aggregation = variable.aggregation();
    return is_made_one(variable) &&
           (aggregation == VariableAggregation::Sum ||
            (aggregation == VariableAggregation::Mean && part == VariablePart::Base));
  }

  Tensor base_of(const Followed& known) { return read(known.variable, VariablePart::Base); }

  // Collectives take bools as integers.
  Tensor as_number(const Tensor& value) {
    if (value.dtype() != DType::Bool) return value;
    return apply_op("cast", {value}, {{"dtype", DType::Int32}}).front();
  }

  // This replica's term of the combined value.
  Tensor part_of(const Followed& known) {
    const Tensor& value = known.value;
    switch (known.variable.aggregation()) {
      case VariableAggregation::Sum: {
        const Tensor replaced = read(known.variable, VariablePart::Replaced);
        if (is_true(replaced)) return value;
        const Tensor before = chosen(replaced, zeros_like(value), base_of(known));
        return apply_op("subtract", {value, before}).front();
      }
      case VariableAggregation::Mean:
        check<InvalidArgument>(is_floating(known.variable.dtype()),
                               "Variable '{}': expected a floating-point dtype for the aggregation "
                               "Mean of what replicas assign, got {}.",
                               known.variable.path(), known.variable.dtype());
        return current_replica()->examples > 0 ? value : zeros_like(value);
      default: {
        const Tensor first =
            apply_op("equal", {replica_value(ReplicaValue::Id), Tensor::scalar(int64_t{0})})
                .front();
        return chosen(first, value, zeros_like(value));
      }
    }
  }

  // The combined value, computed from the sum of the parts, the number of replicas with examples,
  // and whether any replica has replaced the previous value.
  Tensor whole_of(const Followed& known, const Tensor& sum, const Tensor& count,
                  const Tensor& replaced) {
    const VariableAggregation aggregation = known.variable.aggregation();
    if (aggregation == VariableAggregation::Sum) {
      return apply_op("add", {chosen(replaced, zeros_like(sum), base_of(known)), sum}).front();
    }
    if (aggregation != VariableAggregation::Mean) return sum;
    const Tensor some = apply_op("greater", {count, Tensor::scalar(0.0f)}).front();
    const Tensor divisor =
        apply_op("cast", {apply_op("maximum", {count, Tensor::scalar(1.0f)}).front()},
                 {{"dtype", sum.dtype()}})
            .front();
    const Tensor mean = apply_op("divide", {sum, divisor}).front();
    return chosen(some, mean, base_of(known));
  }

  static Tensor zeros_like(const Tensor& value) { return host_zeros(value.shape(), value.dtype()); }

  static bool is_true(const Tensor& condition) {
    return !condition.is_symbolic() && condition.item<bool>();
  }

  Tensor chosen(const Tensor& condition, const Tensor& yes, const Tensor& no) {
    if (!condition.is_symbolic()) return is_true(condition) ? yes : no;
    return apply_op("select", {condition, yes, no}).front();
  }

  std::vector<Tensor> apply_op(const char* op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes = {}) {
    return apply(OpRegistry::global().at(op), inputs, attributes);
  }

  Tensor symbol(ValueId id) {
    const TensorType& type = graph_.type(id);
    return Tensor::symbol(shared_from_this(), id, type.shape, type.dtype);
  }

  ValueId value_of(const Tensor& tensor) {
    if (tensor.is_symbolic()) {
      if (tensor.symbol_owner().get() == this) return static_cast<ValueId>(tensor.symbol_id());
      return capture(tensor);
    }
    // A tensor that an outer tape follows must be an operand, not a constant.
    const bool captures = options_.capture_values || (outer_ && is_followed({&tensor, 1}, {}));
    return captures ? capture(tensor) : constant(tensor);
  }

  ValueId capture(const Tensor& outer) {
    if (const auto* owner = dynamic_cast<const Trace*>(outer.symbol_owner().get())) {
      owner->check_open(options_.name);
    }
    const auto key =
        outer.is_symbolic()
            ? std::pair(static_cast<const void*>(outer.symbol_owner().get()), outer.symbol_id())
            : std::pair(outer.id(), int64_t{-1});
    if (const auto it = captured_.find(key); it != captured_.end()) return it->second;
    const ValueId id = graph_.add_value(type_of(outer));
    graph_.inputs.push_back(id);
    captures_.push_back(outer.is_weak() ? outer.strong() : outer);
    return captured_[key] = id;
  }

  static void require_numbers(DType dtype) {
    check<NotTraceable>(dtype != DType::String || is_inferring_types(),
                        "Traced code works on numbers; it can't take or give strings.");
  }

  ValueId constant(const Tensor& value) {
    require_numbers(value.dtype());
    if (const auto it = constants_.find(value.id()); it != constants_.end()) return it->second;
    static const OpDef& op = OpRegistry::global().at("constant");
    // Graphs hold constants on the host, where backends expect them.
    const ValueId id = graph_.add_node(op, {}, {{"value", value.unplaced().strong()}}).front();
    kept_.push_back(value);  // so that its id isn't reused
    return constants_[value.id()] = id;
  }

  const Followed* find(const Variable& variable, VariablePart part) const {
    const auto found = places_.find({variable.id(), part});
    return found == places_.end() ? nullptr : &followed_[found->second];
  }

  // Begins to follow a part that this trace reads as a state, or assigns.
  Followed& follow(const Variable& variable, VariablePart part) {
    check_open(variable.path());
    check<FailedPrecondition>(options_.allow_state || options_.carry_assignments,
                              "Variable '{}': it can't be assigned within '{}'. Return the new "
                              "value from there and assign it outside.",
                              variable.path(), options_.name);
    if (const auto it = places_.find({variable.id(), part}); it != places_.end()) {
      return followed_[it->second];
    }
    Followed made = {variable, part, kNoValue, {}, {}};
    if (options_.allow_state) begin(made);
    places_[{variable.id(), part}] = followed_.size();
    return followed_.emplace_back(std::move(made));
  }

  // Sets the value that a part has when this trace begins.
  void begin(Followed& part) {
    if (part.part != VariablePart::Value && !outer_) {
      part.value = part.part == VariablePart::Replaced
                       ? Tensor::scalar(false)
                       : symbol(follow(part.variable, VariablePart::Value).in);
      return;
    }
    const bool is_flag = part.part == VariablePart::Replaced;
    part.in = graph_.add_value(is_flag ? TensorType{DType::Bool, {}}
                                       : TensorType{part.variable.dtype(), part.variable.shape()});
    part.value = symbol(part.in);
    if (part.part != VariablePart::Value) return;
    graph_.states.push_back({part.variable, part.variable.path(), part.in, part.in});
  }

  TraceOptions options_;
  VariableHooks* outer_hooks_ = current_variable_hooks();
  Trace* outer_ = dynamic_cast<Trace*>(current_tracer());
  Graph graph_;
  int64_t own_inputs_ = 0;
  ValueId key_ = kNoValue;
  std::vector<std::pair<ReplicaValue, ValueId>> replica_values_;
  std::vector<std::pair<double, ValueId>> replica_sums_;
  std::vector<Tensor> captures_;
  std::map<std::pair<const void*, int64_t>, ValueId> captured_;
  std::unordered_map<const void*, ValueId> constants_;
  std::vector<Tensor> kept_;
  std::deque<Followed> followed_;                                  // references to these stay
  std::map<std::pair<const void*, VariablePart>, size_t> places_;  // index in followed_
  bool closed_ = false;
};

Trace* current_trace() { return dynamic_cast<Trace*>(current_tracer()); }

}  // namespace

std::unique_lock<std::recursive_mutex> tracing_lock() {
  static auto* mutex = new std::recursive_mutex;
  return std::unique_lock(*mutex);
}

Tensor read_part(const Variable& variable, VariablePart part) {
  if (part == VariablePart::Value) {
    const AutocastScope own_dtype(std::nullopt);  // as it is assigned
    return variable.value();
  }
  return dynamic_cast<Trace&>(*current_tracer()).read(variable, part);
}

bool may_differ(const Variable& variable) {
  const auto* tracer = current_trace();
  return tracer && tracer->may_differ(variable);
}

std::vector<bool> may_differ(const std::vector<Tensor>& values) {
  return current_trace()->may_differ(values);
}

void assign_part(const Variable& variable, VariablePart part, const Tensor& value, bool differs) {
  // Other hooks do their own assignments later.
  if (auto* tracer = dynamic_cast<Trace*>(current_variable_hooks())) {
    tracer->set(variable, part, value, differs);
  } else if (part == VariablePart::Value) {
    variable.assign(value);
  }
}

std::optional<TracedDraw> next_traced_draw() {
  auto* tracer = current_trace();
  return tracer ? std::optional(tracer->next_draw()) : std::nullopt;
}

std::optional<Tensor> traced_replica_value(ReplicaValue which) {
  auto* tracer = current_trace();
  return tracer ? std::optional(tracer->replica_value(which)) : std::nullopt;
}

std::optional<Tensor> traced_sum_of_known(double own) {
  auto* tracer = current_trace();
  return tracer ? std::optional(tracer->sum_of_known(own)) : std::nullopt;
}

bool is_traced(const Tensor& symbol) {
  return dynamic_cast<const Trace*>(symbol.symbol_owner().get()) != nullptr;
}

void leave_region(int64_t region) {
  if (auto* tracer = current_trace()) tracer->leave_region(region);
}

TracedGraph trace(const std::vector<TensorType>& inputs,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body,
                  const TraceOptions& options) {
  auto tracer = std::make_shared<Trace>(options);
  const AtEnd ended([&] { tracer->close(); });
  std::vector<Tensor> symbols;
  for (const TensorType& type : inputs) symbols.push_back(tracer->add_input(type));
  TracerScope tracer_scope(tracer.get());
  VariableHooksScope hooks_scope(tracer.get());
  const std::vector<Tensor> outputs = body(symbols);
  tracer->reduce_assigned();
  return tracer->finish(outputs);
}

std::vector<Tensor> replay(const Graph& graph, const std::vector<Tensor>& inputs) {
  CORNU_ASSERT(inputs.size(), ==, graph.inputs.size());
  std::vector<Tensor> values(graph.types.size());
  auto at = [&](ValueId id) -> Tensor& { return values[static_cast<size_t>(id)]; };
  for (size_t i = 0; i < inputs.size(); ++i) at(graph.inputs[i]) = inputs[i];
  for (const StateBinding& state : graph.states) at(state.in) = state.variable.value();
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> arguments;
    for (ValueId id : node.inputs) arguments.push_back(at(id));
    std::vector<Tensor> results = node.is("constant")
                                      ? std::vector<Tensor>{node.attributes.get_tensor("value")}
                                      : apply(*node.op, arguments, node.attributes);
    for (size_t i = 0; i < results.size(); ++i) at(node.outputs[i]) = std::move(results[i]);
  }
  for (const StateBinding& state : graph.states) {
    if (state.out != state.in) state.variable.assign(at(state.out));
  }
  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(at(id));
  return outputs;
}

}  // namespace cornu
