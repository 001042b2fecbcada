// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/trace.h"

#include <algorithm>

#include "framework/core/zeros.h"

namespace cornu {
namespace {

constexpr char kShapeInference[] = "shape inference";

class Trace : public Tracer, public VariableHooks, public std::enable_shared_from_this<Trace> {
 public:
  explicit Trace(const TraceOptions& options) : options_(options) {}

  // A function runs on the device of its variables: new ones are created there.
  std::optional<Device> variable_device() const override {
    if (!graph_.states.empty()) return graph_.states.front().variable.device();
    return outer_ ? outer_->variable_device() : std::nullopt;
  }

  Tensor add_input(const TensorType& type) {
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

  std::string describe(int64_t id) const override {
    constexpr char kMend[] = "ops::where and ops::cond choose by a value there";
    if (options_.name == kShapeInference) {
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
    std::vector<Tensor> result;
    for (ValueId id : outputs) result.push_back(symbol(id));
    return result;
  }

  Tensor read(const Variable& variable) override {
    if (const auto* assigned = assignment(variable)) return symbol(assigned->value);
    if (!options_.allow_state) {
      return outer_hooks_ ? outer_hooks_->read(variable) : variable.stored();
    }
    return symbols_of_states_[state_index(variable)];
  }

  void assign(const Variable& variable, const Tensor& value) override {
    assign(variable, value, merging_replicas() ? Assigned::Merged : Assigned::Value);
  }
  void assign_sum(const Variable& variable, const Tensor& value) override {
    assign(variable, value, merging_replicas() ? Assigned::Merged : Assigned::Sum);
  }

  void assign(const Variable& variable, const Tensor& value, Assigned how) {
    if (options_.carry_assignments) {
      check_open(variable.path());
      const ValueId id = value_of(value);
      if (auto* assigned = assignment(variable)) {
        assigned->value = id;
        assigned->how = together(assigned->how, how);
      } else {
        assignments_.push_back({variable, id, how});
      }
      return;
    }
    const size_t index = state_index(variable);
    const ValueId id = value_of(value);
    graph_.states[index].out = id;
    symbols_of_states_[index] = symbol(id);
    assigned_[index] = together(assigned_[index], how);
    if (how == Assigned::Merged) bases_[index] = id;
  }

  TracedGraph finish(const std::vector<Tensor>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      check<InvalidArgument>(outputs[i].defined(),
                             "Function '{}': expected a tensor as output {}, got an undefined one.",
                             options_.name, i);
      graph_.outputs.push_back(value_of(outputs[i]));
    }
    TracedGraph result;
    std::vector<ValueId> brought;
    if (key_ != kNoValue) brought.push_back(key_);
    for (const auto& [value, id] : replica_values_) {
      brought.push_back(id);
      result.replica_values.push_back(value);
    }
    graph_.inputs.insert(graph_.inputs.begin() + own_inputs_, brought.begin(), brought.end());
    result.graph = std::move(graph_);
    result.captures = std::move(captures_);
    result.has_key = key_ != kNoValue;
    result.draws = options_.draws;
    result.assignments = std::move(assignments_);
    result.assigned = std::move(assigned_);
    return result;
  }

  // Combines the values that replicas have assigned to variables separately, in one collective.
  void reduce_assigned() {
    if (outer_ || !options_.allow_state || replicas_in_sync() == 1) return;
    std::vector<size_t> reduced;
    std::vector<Tensor> parts;
    for (size_t i = 0; i < assigned_.size(); ++i) {
      if (assigned_[i] == Assigned::Never || assigned_[i] == Assigned::Merged) continue;
      const Variable& variable = graph_.states[i].variable;
      if (variable.synchronization() == VariableSynchronization::OnRead) continue;
      if (variable.aggregation() == VariableAggregation::None) continue;
      reduced.push_back(i);
      parts.push_back(part_of(i));
    }
    if (reduced.empty()) return;
    parts.push_back(Tensor::scalar(current_replica()->examples > 0 ? 1.0f : 0.0f));
    std::vector<Tensor> sums = apply_op("all_reduce", parts, {{"reduce", std::string("sum")}});
    for (size_t k = 0; k < reduced.size(); ++k) {
      StateBinding& state = graph_.states[reduced[k]];
      state.out = value_of(whole_of(reduced[k], sums[k], sums.back()));
    }
  }

  // Ends the trace, also one that failed. Symbols of states own this trace: clears the cycle.
  void close() {
    closed_ = true;
    symbols_of_states_.clear();
  }

 private:
  void check_open(std::string_view who) const {
    check<FailedPrecondition>(!closed_,
                              "{}: got a value of '{}', whose trace has ended. Return it from the "
                              "traced function instead of keeping it.",
                              who, options_.name);
  }

  // The kind of two assignments in a row: an assigned value stays one when something is added to
  // it.
  static Assigned together(Assigned before, Assigned now) {
    return before == Assigned::Value && now == Assigned::Sum ? before : now;
  }

  // This replica's term of the combined value.
  Tensor part_of(size_t index) {
    const StateBinding& state = graph_.states[index];
    const Tensor value = symbol(state.out);
    switch (state.variable.aggregation()) {
      case VariableAggregation::Sum:
        if (assigned_[index] == Assigned::Value) return value;
        return apply_op("subtract", {value, symbol(bases_[index])}).front();
      case VariableAggregation::Mean:
        check<InvalidArgument>(is_floating(state.variable.dtype()),
                               "Variable '{}': expected a floating-point dtype for the aggregation "
                               "Mean of what replicas assign, got {}.",
                               state.variable.path(), state.variable.dtype());
        return current_replica()->examples > 0 ? value : host_zeros(value.shape(), value.dtype());
      default: {
        const Tensor first =
            apply_op("equal", {replica_value(ReplicaValue::Id), Tensor::scalar(int64_t{0})})
                .front();
        return apply_op("select", {first, value, host_zeros(value.shape(), value.dtype())}).front();
      }
    }
  }

  // The combined value, from the sum of the parts and the number of replicas with examples.
  Tensor whole_of(size_t index, const Tensor& sum, const Tensor& count) {
    const VariableAggregation aggregation = graph_.states[index].variable.aggregation();
    if (aggregation == VariableAggregation::Sum && assigned_[index] == Assigned::Sum) {
      return apply_op("add", {symbol(bases_[index]), sum}).front();
    }
    if (aggregation != VariableAggregation::Mean) return sum;
    const Tensor some = apply_op("greater", {count, Tensor::scalar(0.0f)}).front();
    const Tensor divisor =
        apply_op("cast", {apply_op("maximum", {count, Tensor::scalar(1.0f)}).front()},
                 {{"dtype", sum.dtype()}})
            .front();
    const Tensor mean = apply_op("divide", {sum, divisor}).front();
    return apply_op("select", {some, mean, symbol(bases_[index])}).front();
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

  ValueId constant(const Tensor& value) {
    if (const auto it = constants_.find(value.id()); it != constants_.end()) return it->second;
    static const OpDef& op = OpRegistry::global().at("constant");
    // Graphs hold constants on the host: backends take them from there.
    const ValueId id = graph_.add_node(op, {}, {{"value", value.host().strong()}}).front();
    kept_.push_back(value);  // so that its id isn't reused
    return constants_[value.id()] = id;
  }

  TracedGraph::Assignment* assignment(const Variable& variable) {
    const auto found = std::find_if(assignments_.begin(), assignments_.end(), [&](const auto& one) {
      return one.variable.id() == variable.id();
    });
    return found == assignments_.end() ? nullptr : &*found;
  }

  size_t state_index(const Variable& variable) {
    check_open(variable.path());
    check<FailedPrecondition>(options_.allow_state,
                              "Variable '{}': it can't be assigned within '{}'. Return the new "
                              "value from there and assign it outside.",
                              variable.path(), options_.name);
    if (const auto it = states_.find(variable.id()); it != states_.end()) return it->second;
    const ValueId id = graph_.add_value({variable.dtype(), variable.shape()});
    graph_.states.push_back({variable, variable.path(), id, id});
    symbols_of_states_.push_back(symbol(id));
    assigned_.push_back(Assigned::Never);
    bases_.push_back(id);
    return states_[variable.id()] = graph_.states.size() - 1;
  }

  TraceOptions options_;
  VariableHooks* outer_hooks_ = current_variable_hooks();
  Trace* outer_ = dynamic_cast<Trace*>(current_tracer());
  Graph graph_;
  int64_t own_inputs_ = 0;
  ValueId key_ = kNoValue;
  std::vector<std::pair<ReplicaValue, ValueId>> replica_values_;
  std::vector<Tensor> captures_;
  std::map<std::pair<const void*, int64_t>, ValueId> captured_;
  std::unordered_map<const void*, ValueId> constants_;
  std::vector<Tensor> kept_;
  std::unordered_map<const void*, size_t> states_;
  std::vector<Tensor> symbols_of_states_;
  std::vector<Assigned> assigned_;  // by state
  std::vector<ValueId> bases_;      // by state: the last value that all replicas had
  std::vector<TracedGraph::Assignment> assignments_;
  bool closed_ = false;
};

// Two sizes to substitute for unknown axes, unlikely in any model.
constexpr int64_t kSubstitutes[2] = {83, 89};

std::vector<TensorType> substitute(const std::vector<TensorType>& types, int64_t size) {
  std::vector<TensorType> result = types;
  for (TensorType& type : result) {
    for (int64_t axis = 0; axis < type.shape.rank(); ++axis) {
      if (type.shape[axis] == kUnknown) type.shape[axis] = size;
    }
  }
  return result;
}

// The error text of one substitute, for the user: numbers that differ with the other substitute
// become None. Unchanged where the two texts don't match.
std::string with_unknowns(const std::string& text, const std::string& other) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto number_at = [&](const std::string& from, size_t i) {
    size_t end = i;
    while (end < from.size() && is_digit(from[end])) ++end;
    return from.substr(i, end - i);
  };
  std::string result;
  size_t i = 0;
  size_t j = 0;
  while (i < text.size() && j < other.size()) {
    const std::string number = number_at(text, i);
    const std::string number_of_other = number_at(other, j);
    if (number.empty() != number_of_other.empty()) return text;
    if (number.empty()) {
      if (text[i] != other[j++]) return text;
      result += text[i++];
      continue;
    }
    result += number == number_of_other ? number : "None";
    i += number.size();
    j += number_of_other.size();
  }
  return i == text.size() && j == other.size() ? result : text;
}

// Whether the text already names a place, so that add_place changes nothing.
bool names_place(Error error) {
  const std::string text = error.what();
  error.add_place("?");
  return error.what() == text;
}

// Throws an error of the same kind with another text; a place that it names is kept.
template <class... Kinds>
void throw_alike(const Error& like, const std::string& text) {
  auto if_it_is = [&](auto error) {
    if (error.code() != like.code()) return;
    if (names_place(like)) error.add_place("");
    throw error;
  };
  (if_it_is(Kinds(text)), ...);
}

}  // namespace

std::unique_lock<std::recursive_mutex> tracing_lock() {
  static auto* mutex = new std::recursive_mutex;
  return std::unique_lock(*mutex);
}

void assign_as(Assigned how, const Variable& variable, const Tensor& value) {
  std::optional<MergeScope> merging;
  if (how == Assigned::Merged) merging.emplace();
  VariableHooks* hooks = current_variable_hooks();
  if (how == Assigned::Sum && hooks) return hooks->assign_sum(variable, value);
  variable.assign(value);
}

std::optional<TracedDraw> next_traced_draw() {
  auto* tracer = dynamic_cast<Trace*>(current_tracer());
  return tracer ? std::optional(tracer->next_draw()) : std::nullopt;
}

std::optional<Tensor> traced_replica_value(ReplicaValue which) {
  auto* tracer = dynamic_cast<Trace*>(current_tracer());
  return tracer ? std::optional(tracer->replica_value(which)) : std::nullopt;
}

TracedGraph trace(const std::vector<TensorType>& inputs,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body,
                  const TraceOptions& options) {
  auto tracer = std::make_shared<Trace>(options);
  const std::shared_ptr<void> closer(nullptr, [&](void*) { tracer->close(); });
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

std::vector<TensorType> infer_types(
    const std::vector<TensorType>& inputs,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body) {
  const TraceOptions options{.name = kShapeInference};
  StopRecordingScope quiet;
  auto output_types = [&](int64_t size) {
    const TracedGraph traced = trace(substitute(inputs, size), body, options);
    std::vector<TensorType> types;
    for (ValueId id : traced.graph.outputs) types.push_back(traced.graph.type(id));
    return types;
  };
  const bool known = std::all_of(inputs.begin(), inputs.end(),
                                 [](const TensorType& type) { return type.shape.is_static(); });
  if (known) return output_types(kSubstitutes[0]);
  std::vector<TensorType> types;
  try {
    types = output_types(kSubstitutes[0]);
  } catch (const Error& error) {
    std::string text = error.what();
    try {
      output_types(kSubstitutes[1]);
    } catch (const Error& other) {
      text = with_unknowns(text, other.what());
    }
    throw_alike<InvalidArgument, FailedPrecondition, OutOfRange, NotFound, Unimplemented>(error,
                                                                                          text);
    throw;
  }
  const std::vector<TensorType> others = output_types(kSubstitutes[1]);
  for (size_t i = 0; i < types.size(); ++i) {
    for (int64_t axis = 0; axis < types[i].shape.rank(); ++axis) {
      if (types[i].shape[axis] != others[i].shape[axis]) types[i].shape[axis] = kUnknown;
    }
  }
  return types;
}

}  // namespace cornu
