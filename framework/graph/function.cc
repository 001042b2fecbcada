// SPDX-License-Identifier: Apache-2.0
#include "cornu/graph/function.h"

#include <map>

#include "cornu/graph/dispatch.h"
#include "cornu/graph/trace.h"

namespace cornu {

struct Function::State {
  Body body;
  FunctionOptions options;
  std::map<std::string, CompiledFunction> signatures;
  std::string last_key;
  CompiledFunction* last = nullptr;
  int64_t trace_count = 0;
};

namespace {

std::string signature_of(const std::vector<Tensor>& inputs) {
  std::string key = std::to_string(replicas_in_sync()) + ':';
  for (const Tensor& input : inputs) {
    if (!input.defined()) {
      key += "none;";
      continue;
    }
    key += static_cast<char>('a' + static_cast<int>(input.dtype()));
    for (int64_t dim : input.shape()) {
      key += std::to_string(dim);
      key += ',';
    }
    key += ';';
  }
  return key;
}

}  // namespace

Function::Function(Body body, const FunctionOptions& options) : state_(std::make_shared<State>()) {
  state_->body = std::move(body);
  state_->options = options;
}

const FunctionOptions& Function::options() const { return state_->options; }
const Function::Body& Function::body() const { return state_->body; }
int64_t Function::trace_count() const { return state_->trace_count; }

CompiledFunction& Function::compiled(const std::vector<Tensor>& inputs) const {
  check<FailedPrecondition>(state_ != nullptr, "Function: expected one made by function(f).");
  State& state = *state_;
  std::string key = signature_of(inputs);
  if (state.last && key == state.last_key) return *state.last;
  auto it = state.signatures.find(key);
  if (it == state.signatures.end()) {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs) types.push_back(type_of(input));
    ++state.trace_count;
    TracedGraph traced = trace(types, state.body, {.name = state.options.name});
    check<FailedPrecondition>(
        traced.captures.empty(), "Function '{}': it uses {}. Pass it as an argument.",
        state.options.name, traced.captures.empty() ? "" : traced.captures[0].to_string());
    CompiledFunction compiled;
    for (const StateBinding& binding : traced.graph.states) {
      compiled.variables.push_back(binding.variable);
    }
    compiled.graph = traced.graph;
    compiled.executable =
        backend_for(default_device())
            .compile(std::move(traced.graph),
                     {.name = state.options.name, .optimize = state.options.optimize});
    it = state.signatures.emplace(key, std::move(compiled)).first;
  }
  state.last_key = std::move(key);
  state.last = &it->second;
  return it->second;
}

std::vector<Tensor> Function::call(const std::vector<Tensor>& inputs) const {
  check<FailedPrecondition>(state_ != nullptr, "Function: expected one made by function(f).");
  if (current_tracer() || state_->options.run_eagerly) return state_->body(inputs);
  CompiledFunction& function = compiled(inputs);
  ReplicaArgs replica;
  replica.device = default_device();
  replica.inputs = inputs;
  replica.variables = function.variables;
  ++function.runs;
  function.executable->run({&replica, 1});
  return std::move(replica.outputs);
}

}  // namespace cornu
