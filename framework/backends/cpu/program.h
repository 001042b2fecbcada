// SPDX-License-Identifier: Apache-2.0
// A graph compiled to a list of prepared kernels over one planned block of memory.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/graph/graph.h"
#include "framework/graph/passes/placement.h"

namespace cornu::cpu {

// Runs the passes for the CPU, in order; dumps the graph after each.
Graph optimize(Graph graph, const std::string& name);
// Like optimize, but everything that depends on unwritten variables alone becomes a separate graph.
struct Optimized {
  Graph graph;
  std::optional<Graph> prepare;  // its outputs are the last inputs of `graph`
};
Optimized optimize_prepared(Graph graph, const std::string& name);

// Allocates tensors for the outputs of a run of `graph`, appends them to `tensors`, and returns
// their memory.
std::vector<void*> allocate_outputs(const Graph& graph, std::vector<Tensor>& tensors);

// Runs a graph repeatedly without allocating. One run at a time: kernels keep their bindings. The
// caller provides the memory for intermediate values.
class Program {
 public:
  explicit Program(Graph graph);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  struct Bindings {
    std::span<const void* const> inputs;  // by graph input
    std::span<void* const> states;        // by graph state; updated in place
    std::span<void* const> outputs;       // by graph output
    std::byte* workspace = nullptr;       // workspace_bytes(), aligned to 64
    CollectiveGroup* group = nullptr;
    // If not null, receives the time at which each instruction has ended, with the copies at the
    // end as the last one, if there are any.
    std::vector<std::chrono::steady_clock::time_point>* ends = nullptr;
  };
  // If a kernel throws, `states_touched()` returns whether state had been written before.
  void run(const Bindings& bindings);
  bool states_touched() const { return states_touched_; }

  const Graph& graph() const { return graph_; }  // as given, including views
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t copied_bytes() const;  // after the last instruction
  // Pairs (input, output) of one type that may be one array: nothing reads the input once the
  // output is being written.
  const Aliases& may_alias() const { return may_alias_; }

 private:
  friend class ProgramBuilder;

  struct Instruction {
    std::unique_ptr<Kernel> kernel;
    std::vector<const void*> in;
    std::vector<void*> out;
    void* scratch = nullptr;
    bool writes_state = false;
  };
  // A pointer of an instruction that changes from run to run, or with the workspace.
  struct Patch {
    uint32_t instruction;
    uint32_t slot;  // inputs first, then outputs, then scratch
    passes::Location location;
  };
  void* address(const passes::Location& location, const Bindings& bindings) const;
  void bind(const std::vector<Patch>& patches, const Bindings& bindings);
  template <class Done>
  void run_instructions(const Bindings& bindings, Done done);

  Graph graph_;
  std::vector<Instruction> instructions_;
  std::vector<Patch> patches_;                   // inputs, states, outputs
  std::vector<Patch> workspace_patches_;         // bound only when the workspace has changed
  std::vector<passes::Placement::Copy> copies_;  // after the last instruction
  std::vector<Tensor> constants_;
  Aliases may_alias_;
  std::byte* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
  bool states_touched_ = false;
};

}  // namespace cornu::cpu
