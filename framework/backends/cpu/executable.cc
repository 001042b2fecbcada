// SPDX-License-Identifier: Apache-2.0
#include "cornu/backends/cpu/executable.h"

#include <algorithm>
#include <exception>

#include "cornu/backends/cpu/replica_threads.h"

namespace cornu::cpu {
namespace {

// The first failure is the cause; collectives that it aborted on other replicas only follow. Null:
// nothing failed.
std::exception_ptr cause_of(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr cause;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    if (!cause) cause = error;
    try {
      std::rethrow_exception(error);
    } catch (const Unavailable&) {
    } catch (...) {
      return error;
    }
  }
  return cause;
}

}  // namespace

CpuExecutable::CpuExecutable(Graph graph, const ExecutableOptions& options) : name_(options.name) {
  if (options.optimize) graph = optimize(std::move(graph), options.name);
  programs_.push_back(std::make_unique<Program>(std::move(graph)));
}

CpuExecutable::~CpuExecutable() = default;

void CpuExecutable::run(std::span<ReplicaArgs> replicas) {
  while (programs_.size() < replicas.size()) {
    programs_.push_back(std::make_unique<Program>(programs_.front()->graph()));
  }
  for (const ReplicaArgs& args : replicas) {
    CORNU_ASSERT(args.inputs.size(), ==, programs_.front()->graph().inputs.size());
    CORNU_ASSERT(args.variables.size(), ==, programs_.front()->graph().states.size());
  }
  std::vector<std::exception_ptr> errors(replicas.size());
  std::vector<char> touched(replicas.size(), false);  // has it begun to write variables?
  run_replicas(static_cast<int>(replicas.size()), [&](int replica) {
    const auto index = static_cast<size_t>(replica);
    try {
      run_replica(index, replicas[index], touched[index]);
    } catch (const std::exception& error) {
      errors[index] = std::current_exception();
      if (replicas[index].group) replicas[index].group->abort(error.what());
    }
  });
  const std::exception_ptr cause = cause_of(errors);
  if (!cause) return;
  if (std::find(touched.begin(), touched.end(), true) != touched.end()) poison(replicas, cause);
  std::rethrow_exception(cause);
}

// What one replica has written and another has not fits together no more.
void CpuExecutable::poison(std::span<ReplicaArgs> replicas, const std::exception_ptr& cause) const {
  const Graph& graph = programs_.front()->graph();
  std::string why;
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& error) {
    why = error.what();
  }
  for (const ReplicaArgs& replica : replicas) {
    for (size_t i = 0; i < graph.states.size(); ++i) {
      if (graph.states[i].out != graph.states[i].in) replica.variables[i].poison(why);
    }
  }
}

void CpuExecutable::run_replica(size_t index, ReplicaArgs& args, char& touched) {
  Program& program = *programs_[index];
  const Graph& graph = program.graph();
  std::vector<const void*> inputs;
  for (const Tensor& input : args.inputs) inputs.push_back(input.raw());
  std::vector<void*> states;
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const Variable& variable = args.variables[i];
    const bool written = graph.states[i].out != graph.states[i].in;
    variable.stored();  // throws when poisoned
    states.push_back(written ? variable.writable()
                             : const_cast<std::byte*>(variable.stored().raw()));
  }
  args.outputs.clear();
  std::vector<void*> outputs;
  for (ValueId id : graph.outputs) {
    const TensorType& type = graph.type(id);
    args.outputs.push_back(Tensor::empty(type.shape, type.dtype));
    outputs.push_back(args.outputs.back().mutable_raw());
  }
  touched = true;
  try {
    program.run({.inputs = inputs,
                 .states = states,
                 .outputs = outputs,
                 .group = args.group,
                 .replica = static_cast<int>(index)});
  } catch (...) {
    touched = program.states_touched();
    throw;
  }
}

std::string CpuExecutable::describe() const { return programs_.front()->graph().to_string(); }

}  // namespace cornu::cpu
