// SPDX-License-Identifier: Apache-2.0
// The CPU's executable: one program per local replica, on persistent threads if there are several.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "framework/backends/cpu/prepared_values.h"
#include "framework/backends/cpu/program.h"
#include "framework/backends/cpu/workspace.h"
#include "framework/core/threads.h"
#include "framework/graph/backend.h"
#include "framework/graph/program_recorder.h"

namespace cornu::cpu {

// Several threads may run it at once: each launch takes a program out of a pool, which grows to the
// largest number of concurrent launches.
class CpuExecutable : public Executable {
 public:
  CpuExecutable(Graph graph, const ExecutableOptions& options);
  ~CpuExecutable() override;

  // Describes the graph, preceded by the one that is run once per state of the variables.
  std::string describe() const override;
  size_t node_count() const override { return graph_.nodes.size(); }
  size_t workspace_bytes() const override;

 private:
  // A program for one number of compute threads, on which what its kernels prepare and the memory
  // they need may depend.
  struct Prepared {
    explicit Prepared(const Graph& graph)
        : threads(compute_threads()), program(graph), demand(program.workspace_bytes()) {}
    int threads;
    Program program;
    WorkspaceDemand demand;
  };
  class Lease;

  friend class Run;
  // Returns the contents of `program`, one of this executable's; computed on first request.
  std::shared_ptr<const ProgramFacts> facts(const Program& program);
  bool writes(size_t state) const { return graph_.states.at(state).out != graph_.states[state].in; }

  std::string name_;
  Graph graph_;                               // optimized
  std::unique_ptr<PreparedValues> prepared_;  // its last inputs; null if it has none
  mutable std::mutex mutex_;                  // guards all below
  std::vector<std::unique_ptr<Prepared>> idle_;
  size_t workspace_bytes_ = 0;  // of the largest program
  std::shared_ptr<const ProgramFacts> facts_;
};

// Implements Backend::run.
void run(std::span<Launch> launches);

}  // namespace cornu::cpu
