// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/function.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>

#include "framework/core/at_end.h"
#include "framework/core/logging.h"
#include "framework/core/per_thread.h"
#include "framework/core/random.h"
#include "framework/core/strings.h"
#include "framework/core/user_code.h"
#include "framework/core/variable_bindings.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/trace.h"

namespace cornu {
namespace {

// More traces of one function cause a warning.
constexpr int64_t kManyTraces = 16;

constexpr int kMaxCallDepth = 256;  // the stack has room for more

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The constants of a graph, including tensors that its code has captured.
std::vector<Tensor> constants_of(const Graph& graph) {
  std::vector<Tensor> constants;
  for (const Node& node : graph.nodes) {
    if (node.is("constant")) constants.push_back(node.attributes.get_tensor("value"));
  }
  return constants;
}

// The device for code that uses these variables: that of this thread's innermost DeviceScope, else
// the variables' device, else the default device.
Device home_of(const std::vector<Variable>& variables, const std::string& name) {
  const Device device =
      has_device_scope() || variables.empty() ? default_device() : variables.front().device();
  if (replicas_in_sync() > 1) return device;  // each replica gets its own copies
  for (const Variable& variable : variables) {
    check<InvalidArgument>(variable.device().shares_memory_with(device),
                           "Function '{}': it runs on {}, but variable '{}' lives on {}. Make its "
                           "variables and call it within the same DeviceScope.",
                           name, device, variable.path(), variable.device());
  }
  return device;
}

std::vector<Tensor> flatten(const std::vector<Tensors>& arguments) {
  if (arguments.size() == 1) return arguments[0].list();
  std::vector<Tensor> flat;
  for (const Tensors& argument : arguments) {
    flat.insert(flat.end(), argument.begin(), argument.end());
  }
  return flat;
}

// Copies the arguments to the device of the innermost DeviceScope, if any, as a compiled function
// does.
std::vector<Tensors> on_scope_device(const std::vector<Tensors>& arguments) {
  if (!has_device_scope()) return arguments;
  std::vector<Tensors> result;
  for (const Tensors& argument : arguments) {
    std::vector<Tensor> tensors = argument.list();
    bring_to(default_device(), tensors);
    result.push_back(argument.with(std::move(tensors)));
  }
  return result;
}

bool is_any_bound(const std::vector<Tensors>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const Tensors& argument) {
    return std::any_of(argument.begin(), argument.end(),
                       [](const Tensor& tensor) { return tensor.defined() && tensor.is_bound(); });
  });
}

std::vector<Tensors> one_argument(const std::vector<Tensor>& inputs) {
  std::vector<Tensors> arguments;
  arguments.emplace_back(inputs);
  return arguments;
}

template <class T>
void append(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Writes everything a trace depends on, as bytes to be compared.
void write_signature(std::string& key, const std::vector<Tensors>& arguments) {
  key.clear();
  append(key, static_cast<int32_t>(replicas_in_sync()));
  if (const Replica* replica = current_replica()) {
    append(key, replica->examples);
    for (const std::vector<int64_t>& sizes : replica->gathered) {
      append(key, static_cast<int64_t>(sizes.size()));
      for (const int64_t size : sizes) append(key, size);
    }
  }
  const Device device = default_device();
  append(key, static_cast<int32_t>(device.type));
  append(key, static_cast<int32_t>(device.index));
  append(key, has_device_scope());
  for (const Tensors& argument : arguments) {
    append(key, static_cast<uint32_t>(argument.size()));
    append(key, argument.has_names());
    for (const std::string& name : argument.names()) {
      append(key, static_cast<uint32_t>(name.size()));
      key += name;
    }
    for (const Tensor& tensor : argument) {
      append(key, static_cast<int8_t>(tensor.defined() ? static_cast<int>(tensor.dtype()) : -1));
      if (!tensor.defined()) continue;
      append(key, static_cast<int8_t>(tensor.rank()));
      for (int64_t size : tensor.shape()) append(key, size);
    }
  }
}

// The signature as readable text, one line per tensor.
std::vector<std::string> describe(const std::vector<Tensors>& arguments) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (size_t j = 0; j < arguments[i].size(); ++j) {
      const Tensor& tensor = arguments[i][j];
      const std::string place = arguments[i].has_names()
                                    ? fmt::format("'{}'", arguments[i].names()[j])
                                    : fmt::format("{}", lines.size());
      lines.push_back(tensor.defined()
                          ? fmt::format("argument {}: {} {}", place, tensor.dtype(), tensor.shape())
                          : fmt::format("argument {}: none", place));
    }
  }
  return lines;
}

std::string difference(const std::vector<std::string>& before,
                       const std::vector<std::string>& now) {
  if (before.size() != now.size()) {
    return fmt::format("{} tensors, before {}", now.size(), before.size());
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] == before[i]) continue;
    return fmt::format("{}, before {}", now[i], before[i].substr(before[i].find(": ") + 2));
  }
  return "device, structure or number of replicas";
}

uint64_t next_number() {
  static std::atomic<uint64_t> made = 0;
  return ++made;
}

}  // namespace

struct Function::State {
  using Compiled = std::shared_ptr<const CompiledFunction>;
  using Entry = std::pair<std::string, Compiled>;

  StructuredBody body;
  FunctionOptions options;
  const uint64_t number = next_number();
  bool by_argument = false;
  std::atomic<bool> not_traceable = false;

  std::mutex mutex;          // guards all members below
  std::list<Entry> entries;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index;
  int64_t traces = 0;
  std::vector<std::string> last_traced;
  bool warned = false;

  Compiled find(const std::string& key) {
    const std::lock_guard lock(mutex);
    if (!entries.empty() && entries.front().first == key) return entries.front().second;
    const auto it = index.find(key);
    if (it == index.end()) return nullptr;
    entries.splice(entries.begin(), entries, it->second);
    return it->second->second;
  }

  // Returns the dropped entry, to be destroyed without holding the lock.
  Compiled keep(const std::string& key, Compiled compiled) {
    const std::lock_guard lock(mutex);
    entries.emplace_front(key, std::move(compiled));
    index[entries.front().first] = entries.begin();
    if (static_cast<int64_t>(entries.size()) <= options.max_signatures) return nullptr;
    index.erase(entries.back().first);
    Compiled dropped = std::move(entries.back().second);
    entries.pop_back();
    return dropped;
  }

  void count_trace(const std::vector<Tensors>& arguments) {
    std::vector<std::string> now = describe(arguments);
    const std::lock_guard lock(mutex);
    ++traces;
    if (!warned && traces > std::min(kManyTraces, options.max_signatures)) {
      warned = true;
      logging::warn(fmt::format(
          "Function '{}': traced and compiled {} times, since each new signature of its arguments "
          "needs a trace of its own. The last retrace was due to: {}. Keep shapes the same (pad, "
          "drop the remainder when batching), and pass numbers that change as tensors. The last {} "
          "signatures are kept.",
          options.name, traces, difference(last_traced, now), options.max_signatures));
    }
    last_traced = std::move(now);
  }

  Compiled build(const std::vector<Tensors>& arguments);
  Tensors call_body(const std::vector<Tensors>& arguments) const;
};

// Calls the body directly; an active trace records its ops.
Tensors Function::State::call_body(const std::vector<Tensors>& arguments) const {
  static thread_local int depth = 0;  // of nested bodies
  check<FailedPrecondition>(
      depth < kMaxCallDepth,
      "Function '{}': {} nested calls of functions. A trace makes every call that the code makes, "
      "so a recursion must end by a C++ value; use ops::while_loop for a repetition that ends by a "
      "tensor's value.",
      options.name, depth);
  ++depth;
  const AtEnd ended([] { --depth; });
  return body(arguments);
}

// Traces and compiles; the caller holds tracing_lock().
Function::State::Compiled Function::State::build(const std::vector<Tensors>& arguments) {
  std::vector<TensorType> types;
  for (const Tensors& argument : arguments) {
    for (const Tensor& tensor : argument) types.push_back(type_of(tensor));
  }
  auto compiled = std::make_shared<CompiledFunction>();
  auto flat_body = [&](const std::vector<Tensor>& symbols) {
    std::vector<Tensors> structured;
    auto next = symbols.begin();
    for (const Tensors& argument : arguments) {
      const auto end = next + static_cast<int64_t>(argument.size());
      structured.push_back(argument.with(std::vector<Tensor>(next, end)));
      next = end;
    }
    const Tensors results = call_body(structured);
    compiled->structure = results.with(std::vector<Tensor>(results.size()));
    return results.list();
  };
  if (!options.run_eagerly) count_trace(arguments);
  auto start = std::chrono::steady_clock::now();
  TracedGraph traced = trace(types, flat_body, {.name = options.name});
  compiled->tracing_seconds = seconds_since(start);
  check<FailedPrecondition>(traced.captures.empty(),
                            "Function '{}': it uses {}. Pass it as an argument.", options.name,
                            traced.captures.empty() ? "" : traced.captures[0].to_string());
  for (const StateBinding& binding : traced.graph.states) {
    compiled->variables.push_back(binding.variable);
  }
  compiled->device = home_of(compiled->variables, options.name);
  compiled->optimized = options.optimize && !options.run_eagerly;
  compiled->has_key = traced.has_key;
  compiled->communicates = !traced.replica_values.empty() || !traced.replica_sums.empty() ||
                           std::ranges::any_of(traced.graph.nodes, [](const Node& node) {
                             return node.traits().collective;
                           });
  compiled->replica_values = std::move(traced.replica_values);
  compiled->replica_sums = std::move(traced.replica_sums);
  compiled->graph = traced.graph;
  compiled->name = options.name;
  compiled->signature = join(describe(arguments), ", ");
  start = std::chrono::steady_clock::now();
  compiled->executable = backend_for(compiled->device)
                             .compile(std::move(traced.graph), {.name = options.name,
                                                                .optimize = compiled->optimized,
                                                                .device = compiled->device});
  compiled->compiling_seconds = seconds_since(start);
  return compiled;
}

CompileReport CompiledFunction::report() const {
  return {.name = name,
          .signature = signature,
          .traced_nodes = static_cast<int64_t>(graph.nodes.size()),
          .compiled_nodes = static_cast<int64_t>(executable->node_count()),
          .tracing_seconds = tracing_seconds,
          .compiling_seconds = compiling_seconds,
          .workspace_bytes = executable->workspace_bytes()};
}

namespace {

std::string number_of_tensors(size_t count) {
  return fmt::format("{} argument{}", count, count == 1 ? "" : "s");
}

// Describes what was passed in place of plain tensors; names mean that it was a structure.
std::string description_of(const std::vector<Tensors>& arguments, size_t tensors) {
  std::vector<std::string> names;
  for (const Tensors& argument : arguments) {
    names.insert(names.end(), argument.names().begin(), argument.names().end());
  }
  if (names.empty()) return std::to_string(tensors);
  return fmt::format(
      "{}, by the names {}. It takes plain tensors; to take them by name, let its "
      "parameter be const Tensors& batch, and read batch[\"{}\"]",
      tensors, join(names, ", "), names.front());
}

}  // namespace

namespace internal {

std::vector<Tensor> tensors_of(const std::vector<Tensors>& arguments, size_t count) {
  std::vector<Tensor> tensors = flatten(arguments);
  check<InvalidArgument>(tensors.size() == count, "function: expected {}, got {}.",
                         number_of_tensors(count), description_of(arguments, tensors.size()));
  return tensors;
}

std::vector<Tensors> structures_of(const std::vector<Tensors>& arguments, size_t count) {
  std::vector<Tensors> structures = arguments;
  // A single list when several arguments are expected: each of its tensors is an argument.
  if (arguments.size() == 1 && count > 1 && !arguments[0].has_names()) {
    structures.assign(arguments[0].begin(), arguments[0].end());
  }
  check<InvalidArgument>(structures.size() == count,
                         "function: expected {} arguments, tensors or structures of them, got {}.",
                         count, structures.size());
  return structures;
}

}  // namespace internal

std::vector<Tensor> CompiledFunction::inputs(const std::vector<Tensors>& arguments,
                                             std::optional<uint64_t> key,
                                             const Replica& replica) const {
  std::vector<Tensor> result = flatten(arguments);
  if (has_key) {
    const uint64_t bits = key ? *key : next_key();
    result.push_back(
        Tensor::from<uint32_t>({static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)}));
  }
  for (const ReplicaValue value : replica_values) {
    result.push_back(
        Tensor::scalar(value == ReplicaValue::Id ? replica.id : replica.first_example));
  }
  for (const double sum : replica.sums) result.push_back(Tensor::scalar(sum));
  const auto is_here = [&](const Tensor& tensor) { return is_there(tensor, device); };
  if (!std::ranges::all_of(result, is_here)) backend_for(device).bring(result, device);
  return result;
}

Function::Function(Body body, const FunctionOptions& options)
    : Function(structured(
          [body =
               given_function(std::move(body), "Function")](const std::vector<Tensors>& arguments) {
            return Tensors(arguments.size() == 1 ? body(arguments[0].list())
                                                 : body(flatten(arguments)));
          },
          options)) {}

Function Function::structured(StructuredBody body, const FunctionOptions& options,
                              bool by_argument) {
  check<InvalidArgument>(options.max_signatures >= 1,
                         "Function '{}': expected max_signatures of at least 1, got {}.",
                         options.name, options.max_signatures);
  Function function;
  function.state_ = std::make_shared<State>();
  function.state_->body = std::move(body);
  function.state_->options = options;
  function.state_->by_argument = by_argument;
  return function;
}

Function::State& Function::state() const {
  check<FailedPrecondition>(state_ != nullptr, "Function: expected one made by function(f).");
  return *state_;
}

const FunctionOptions& Function::options() const { return state().options; }

uint64_t Function::number() const { return state().number; }

Tensors Function::call_body(const std::vector<Tensors>& arguments) const {
  return state().call_body(arguments);
}

int64_t Function::trace_count() const {
  const std::lock_guard lock(state().mutex);
  return state_->traces;
}

int64_t Function::signature_count() const {
  const std::lock_guard lock(state().mutex);
  return static_cast<int64_t>(state_->entries.size());
}

std::vector<CompileReport> Function::compile_reports() const {
  const std::lock_guard lock(state().mutex);
  std::vector<CompileReport> reports;
  for (const auto& [key, compiled] : state_->entries) reports.push_back(compiled->report());
  return reports;
}

std::vector<Variable> Function::written_variables() const {
  std::map<uint64_t, Variable> written;
  const std::lock_guard lock(state().mutex);
  for (const auto& [key, compiled] : state_->entries) {
    for (const StateBinding& binding : compiled->graph.states) {
      if (binding.in != binding.out) written.emplace(binding.variable.number(), binding.variable);
    }
  }
  std::vector<Variable> variables;
  for (const auto& [number, variable] : written) variables.push_back(variable);
  return variables;
}

std::shared_ptr<const CompiledFunction> Function::compiled(
    const std::vector<Tensor>& inputs) const {
  return compiled_for(one_argument(inputs));
}

std::shared_ptr<const CompiledFunction> Function::compiled_for(
    const std::vector<Tensors>& arguments) const {
  State& state = this->state();
  if (state.options.run_eagerly) {
    const auto lock = tracing_lock();
    return state.build(arguments);
  }
  std::string& key = per_thread([] { return std::string(); });
  write_signature(key, arguments);
  if (auto found = state.find(key)) return found;
  const std::string own_key = key;  // a trace may call other functions
  const auto lock = tracing_lock();
  if (auto found = state.find(own_key)) return found;  // compiled by another thread in the meantime
  auto compiled = state.build(arguments);
  const auto dropped = state.keep(own_key, compiled);
  return compiled;
}

std::vector<Tensor> Function::call(const std::vector<Tensor>& inputs,
                                   std::optional<uint64_t> key) const {
  return run(one_argument(inputs), key).list();
}

Tensors Function::call_with(std::vector<Tensors> arguments) const {
  const bool as_given = state().by_argument || arguments.size() == 1;
  return run(as_given ? std::move(arguments) : one_argument(flatten(arguments)));
}

Tensors Function::run(const std::vector<Tensors>& arguments, std::optional<uint64_t> key) const {
  State& state = this->state();
  if (current_tracer() || state.not_traceable) return state.call_body(arguments);
  if (state.options.run_eagerly) return state.call_body(on_scope_device(arguments));
  std::shared_ptr<const CompiledFunction> function;
  try {
    function = compiled_for(arguments);
  } catch (const internal::StartsOwnRuns&) {
    state.not_traceable = true;
    return state.call_body(arguments);
  }
  if (has_op_observers() && (is_followed(flatten(arguments), function->variables) ||
                             is_followed(constants_of(function->graph), {}))) {
    return state.call_body(arguments);
  }
  const std::vector<Tensor> inputs = function->inputs(arguments, key);
  std::vector<Variable> bound;
  if (VariableBindings::active()) bound = VariableBindings::apply(function->variables);
  const std::vector<Variable>& variables = VariableBindings::active() ? bound : function->variables;
  for (const Variable& variable : variables) variable.gather();
  Launch launch{.executable = function->executable.get(),
                .device = function->device,
                .inputs = inputs,
                .variables = variables,
                .outputs = {}};
  backend_for(launch.device).run({&launch, 1});
  if (!function->variables.empty() || is_any_bound(arguments)) {
    for (Tensor& output : launch.outputs) output.bind();
  }
  return function->structure.with(std::move(launch.outputs));
}

}  // namespace cornu
