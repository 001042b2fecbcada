// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/executable.h"

#include <algorithm>
#include <exception>

#include "framework/backends/cpu/replica_threads.h"

namespace cornu::cpu {
namespace {

// The first failure is the cause; what it aborted on other replicas only follows. Null: nothing
// failed.
std::exception_ptr cause_of(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr cause;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    if (!cause) cause = error;
    try {
      std::rethrow_exception(error);
    } catch (const Aborted&) {
    } catch (...) {
      return error;
    }
  }
  return cause;
}

}  // namespace

// A program of the executable's for the length of a run.
class CpuExecutable::Lease {
 public:
  explicit Lease(CpuExecutable& executable) : executable_(executable) {
    const int threads = compute_threads();
    {
      const std::lock_guard lock(executable_.mutex_);
      auto& idle = executable_.idle_;
      const auto it = std::find_if(idle.rbegin(), idle.rend(), [&](const auto& prepared) {
        return prepared->threads == threads;
      });
      if (it != idle.rend()) {
        prepared_ = std::move(*it);
        idle.erase(it.base() - 1);
        return;
      }
    }
    prepared_ = std::make_unique<Prepared>(executable_.graph_);
    const std::lock_guard lock(executable_.mutex_);
    executable_.workspace_bytes_ =
        std::max(executable_.workspace_bytes_, program().workspace_bytes());
  }
  ~Lease() {
    const std::lock_guard lock(executable_.mutex_);
    executable_.idle_.push_back(std::move(prepared_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Program& program() const { return prepared_->program; }

 private:
  CpuExecutable& executable_;
  std::unique_ptr<Prepared> prepared_;
};

CpuExecutable::CpuExecutable(Graph graph, const ExecutableOptions& options) : name_(options.name) {
  graph_ = options.optimize ? optimize(std::move(graph), options.name) : std::move(graph);
  const Lease first(*this);  // tells at once what has no kernel
}

size_t CpuExecutable::workspace_bytes() const {
  const std::lock_guard lock(mutex_);
  return workspace_bytes_;
}

CpuExecutable::~CpuExecutable() = default;

void CpuExecutable::run(std::span<ReplicaArgs> replicas) {
  VariableAccess access;
  access.reserve(replicas.size() * graph_.states.size());
  for (const ReplicaArgs& args : replicas) {
    CORNU_ASSERT(args.inputs.size(), ==, graph_.inputs.size());
    CORNU_ASSERT(args.variables.size(), ==, graph_.states.size());
    for (size_t i = 0; i < args.variables.size(); ++i) access.add(args.variables[i], writes(i));
  }
  access.acquire();
  std::vector<void*> states;
  states.reserve(replicas.size() * graph_.states.size());
  const size_t count = graph_.states.size();
  for (size_t i = 0; i < count * replicas.size(); ++i) states.push_back(access.memory(i));

  std::vector<std::exception_ptr> errors(replicas.size());
  std::vector<char> touched(replicas.size(), false);  // has it begun to write variables?
  run_replicas(static_cast<int>(replicas.size()), [&](int replica) {
    const auto index = static_cast<size_t>(replica);
    try {
      run_replica(replica, replicas[index], {states.data() + index * count, count}, touched[index]);
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
  std::string why;
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& error) {
    why = error.what();
  }
  for (const ReplicaArgs& replica : replicas) {
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      if (writes(i)) replica.variables[i].poison(why);
    }
  }
}

void CpuExecutable::run_replica(int index, ReplicaArgs& args, std::span<void* const> states,
                                char& touched) {
  std::vector<const void*> inputs;
  inputs.reserve(args.inputs.size());
  for (const Tensor& input : args.inputs) inputs.push_back(input.raw());
  args.outputs.clear();
  std::vector<void*> outputs;
  for (ValueId id : graph_.outputs) {
    const TensorType& type = graph_.type(id);
    args.outputs.push_back(Tensor::empty(type.shape, type.dtype));
    outputs.push_back(args.outputs.back().mutable_raw());
  }
  const Lease lease(*this);
  const Workspace workspace(lease.program().workspace_bytes());
  touched = true;
  try {
    lease.program().run({.inputs = inputs,
                         .states = states,
                         .outputs = outputs,
                         .workspace = workspace.data(),
                         .group = args.group,
                         .replica = index});
  } catch (...) {
    touched = lease.program().states_touched();
    throw;
  }
}

}  // namespace cornu::cpu
