// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/executable.h"

#include <algorithm>
#include <exception>

#include "framework/graph/launches.h"
#include "framework/graph/program_facts.h"

namespace cornu::cpu {
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
  if (options.optimize) {
    Optimized optimized = optimize_prepared(std::move(graph), options.name);
    graph_ = std::move(optimized.graph);
    if (optimized.prepare) {
      prepared_ = std::make_unique<PreparedValues>(std::move(*optimized.prepare));
    }
  } else {
    graph_ = std::move(graph);
  }
  const Lease first(*this);  // throws right away for ops without a kernel
}

std::string CpuExecutable::describe() const {
  return (prepared_ ? prepared_->graph().to_string() : "") + graph_.to_string();
}

size_t CpuExecutable::workspace_bytes() const {
  const std::lock_guard lock(mutex_);
  return workspace_bytes_;
}

std::shared_ptr<const ProgramFacts> CpuExecutable::facts(const Program& program) {
  const std::lock_guard lock(mutex_);
  if (!facts_)
    facts_ = std::make_shared<const ProgramFacts>(
        facts_of(program.graph(), name_, program.copied_bytes()));
  return facts_;
}

CpuExecutable::~CpuExecutable() = default;

// One run of several launches.
class Run {
 public:
  explicit Run(std::span<Launch> launches)
      : launches_(launches),
        run_(launches,
             [](const Executable& executable, size_t state) {
               return static_cast<const CpuExecutable&>(executable).writes(state);
             }),
        recorded_(ProgramRecorder::is_any_recording() ? launches.size() : 0) {}

  void operator()() {
    run_([&](size_t index, bool& touched) { launch(index, touched); });
    for (const ProgramRun& run : recorded_) ProgramRecorder::record(run);
  }

 private:
  void launch(size_t index, bool& touched) {
    touched = false;
    Launch& launch = launches_[index];
    auto& executable = static_cast<CpuExecutable&>(*launch.executable);
    const Graph& graph = executable.graph_;
    std::vector<const void*> inputs;
    inputs.reserve(graph.inputs.size());
    for (const Tensor& input : launch.inputs) inputs.push_back(input.raw());
    PreparedValues::Values prepared;  // lives as long as the run
    if (executable.prepared_) {
      prepared = executable.prepared_->of(launch.variables, run_.states(index),
                                          [&](size_t state) { return run_.version(index, state); });
      for (const Tensor& value : *prepared) inputs.push_back(value.raw());
    }
    CORNU_ASSERT(inputs.size(), ==, graph.inputs.size());
    CORNU_ASSERT(launch.variables.size(), ==, graph.states.size());
    launch.outputs.clear();
    const std::vector<void*> outputs = allocate_outputs(graph, launch.outputs);
    const CpuExecutable::Lease lease(executable);
    const size_t workspace_bytes = lease.program().workspace_bytes();
    std::byte* of_group = launch.group ? launch.group->memory(workspace_bytes) : nullptr;
    const Workspace workspace(of_group ? 0 : workspace_bytes);
    touched = true;
    ProgramRun* const recorded = recorded_.empty() ? nullptr : &recorded_[index];
    if (recorded) {
      recorded->program = executable.facts(lease.program());
      recorded->replica = static_cast<int64_t>(index);
      recorded->ends.reserve(recorded->program->instructions.size());
      recorded->begin = ProgramRun::Clock::now();
    }
    try {
      lease.program().run({.inputs = inputs,
                           .states = run_.states(index),
                           .outputs = outputs,
                           .workspace = of_group ? of_group : workspace.data(),
                           .group = launch.group,
                           .ends = recorded ? &recorded->ends : nullptr});
    } catch (const std::exception& error) {
      touched = lease.program().states_touched();
      // Abort before this replica's memory is freed, as others may be reading it.
      if (launch.group) launch.group->abort(error.what());
      throw;
    }
  }

  std::span<Launch> launches_;
  LaunchRun run_;
  std::vector<ProgramRun> recorded_;  // by launch; empty if nobody records
};

void run(std::span<Launch> launches) {
  Run run(launches);
  run();
}

}  // namespace cornu::cpu
