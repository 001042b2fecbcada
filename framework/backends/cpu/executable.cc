// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/executable.h"

#include <algorithm>
#include <exception>

#include "framework/backends/cpu/program_facts.h"
#include "framework/backends/cpu/replica_threads.h"

namespace cornu::cpu {
namespace {

// The first error other than Aborted, which only follows from an error of another replica; else the
// first one. Null: no errors.
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

// Takes a program out of the executable's pool for the duration of a run.
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
  const Lease first(*this);  // throws right away for ops without a kernel
}

size_t CpuExecutable::workspace_bytes() const {
  const std::lock_guard lock(mutex_);
  return workspace_bytes_;
}

std::shared_ptr<const ProgramFacts> CpuExecutable::facts(const Program& program) {
  const std::lock_guard lock(mutex_);
  if (!facts_) facts_ = std::make_shared<const ProgramFacts>(facts_of(program, name_));
  return facts_;
}

CpuExecutable::~CpuExecutable() = default;

// One run of several launches.
class Run {
 public:
  explicit Run(std::span<Launch> launches)
      : launches_(launches),
        touched_(launches.size(), false),
        recorded_(ProgramRecorder::is_any_recording() ? launches.size() : 0) {
    size_t count = 0;
    for (const Launch& launch : launches_) count += launch.variables.size();
    access_.reserve(count);
    for (const Launch& launch : launches_) {
      const CpuExecutable& executable = executable_of(launch);
      CORNU_ASSERT(launch.inputs.size(), ==, executable.graph_.inputs.size());
      CORNU_ASSERT(launch.variables.size(), ==, executable.graph_.states.size());
      for (size_t i = 0; i < launch.variables.size(); ++i) {
        access_.add(launch.variables[i], executable.writes(i));
      }
    }
    access_.acquire();
    states_.reserve(count);
    for (const Launch& launch : launches_) {
      for (size_t i = 0; i < launch.variables.size(); ++i) {
        states_.push_back(access_.memory(states_.size(), launch.device));
      }
    }
  }

  void operator()() {
    std::vector<std::exception_ptr> errors(launches_.size());
    run_replicas(static_cast<int>(launches_.size()), [&](int replica) {
      const auto index = static_cast<size_t>(replica);
      try {
        launch(index);
        if (launches_[index].group) launches_[index].group->end_step();
      } catch (const std::exception& error) {
        errors[index] = std::current_exception();
        if (launches_[index].group) launches_[index].group->abort(error.what());
      }
    });
    const std::exception_ptr cause = cause_of(errors);
    if (!cause) {
      for (const ProgramRun& run : recorded_) ProgramRecorder::record(run);
      return;
    }
    if (std::find(touched_.begin(), touched_.end(), true) != touched_.end()) poison(cause);
    std::rethrow_exception(cause);
  }

 private:
  static CpuExecutable& executable_of(const Launch& launch) {
    return static_cast<CpuExecutable&>(*launch.executable);
  }

  void launch(size_t index) {
    Launch& launch = launches_[index];
    CpuExecutable& executable = executable_of(launch);
    const Graph& graph = executable.graph_;
    std::vector<const void*> inputs;
    inputs.reserve(launch.inputs.size());
    for (const Tensor& input : launch.inputs) inputs.push_back(input.raw());
    launch.outputs.clear();
    std::vector<void*> outputs;
    for (ValueId id : graph.outputs) {
      const TensorType& type = graph.type(id);
      launch.outputs.push_back(Tensor::empty(type.shape, type.dtype));
      outputs.push_back(launch.outputs.back().mutable_raw());
    }
    size_t first_state = 0;
    for (size_t i = 0; i < index; ++i) first_state += launches_[i].variables.size();
    const CpuExecutable::Lease lease(executable);
    const size_t workspace_bytes = lease.program().workspace_bytes();
    std::byte* of_group = launch.group ? launch.group->memory(workspace_bytes) : nullptr;
    const Workspace workspace(of_group ? 0 : workspace_bytes);
    touched_[index] = true;
    ProgramRun* const recorded = recorded_.empty() ? nullptr : &recorded_[index];
    if (recorded) {
      recorded->program = executable.facts(lease.program());
      recorded->replica = static_cast<int64_t>(index);
      recorded->ends.reserve(recorded->program->instructions.size());
      recorded->begin = ProgramRun::Clock::now();
    }
    try {
      lease.program().run({.inputs = inputs,
                           .states = {states_.data() + first_state, launch.variables.size()},
                           .outputs = outputs,
                           .workspace = of_group ? of_group : workspace.data(),
                           .group = launch.group,
                           .ends = recorded ? &recorded->ends : nullptr});
    } catch (const std::exception& error) {
      touched_[index] = lease.program().states_touched();
      // Before this replica's memory is freed: others may be reading it.
      if (launch.group) launch.group->abort(error.what());
      throw;
    }
  }

  // Some replicas have written their variables and others haven't: none are valid any more.
  void poison(const std::exception_ptr& cause) const {
    std::string why;
    try {
      std::rethrow_exception(cause);
    } catch (const std::exception& error) {
      why = error.what();
    }
    for (const Launch& launch : launches_) {
      for (size_t i = 0; i < launch.variables.size(); ++i) {
        if (executable_of(launch).writes(i)) launch.variables[i].poison(why);
      }
    }
  }

  std::span<Launch> launches_;
  VariableAccess access_;
  std::vector<void*> states_;         // of all launches
  std::vector<char> touched_;         // by launch: whether it may have written variables
  std::vector<ProgramRun> recorded_;  // by launch; none where nobody records
};

void run(std::span<Launch> launches) {
  Run run(launches);
  run();
}

}  // namespace cornu::cpu
