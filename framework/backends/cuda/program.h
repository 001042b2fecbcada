// SPDX-License-Identifier: Apache-2.0
// A graph compiled for a GPU: a list of instructions over one planned block of memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/backends/cuda/lowered_op.h"
#include "framework/graph/communicator.h"
#include "framework/graph/graph.h"
#include "framework/graph/passes/dump.h"
#include "framework/graph/passes/placement.h"

namespace cornu::cuda {

// Runs the passes for GPUs, in order; dumps the graph after each.
Graph optimize(Graph graph, passes::Dump& dump);
Graph optimize(Graph graph, const std::string& name);

// State shared by the instructions of one run.
struct RunContext {
  GpuDevice& device;
  CollectiveGroup* group = nullptr;  // null: a group of one
  bool nested = false;               // within a loop or a branch
  Origin origin = {};                // what the operands depend on
  // If not null, receives the end time of each of the program's instructions, followed by that of
  // the copies at the end if there are any; the host waits for each of them.
  std::vector<std::chrono::steady_clock::time_point>* ends = nullptr;
};

// A step of a program. The caller of `enqueue` holds the device's lock.
class Instruction {
 public:
  virtual ~Instruction() = default;
  virtual void enqueue(const OpMemory& memory, RunContext& context) = 0;
  // Describes what it enqueues, one line each.
  virtual std::string describe() const = 0;
  virtual size_t scratch_bytes() const { return 0; }
  virtual Aliases aliases() const { return {}; }
  // Approximate number of nodes in a captured graph. kNever: its work depends on values.
  virtual int64_t replayed_nodes() const { return 1; }
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // Whether it waits for other replicas, if there are any.
  virtual bool communicates() const { return false; }
  // Adds its ops whose kernels have to be loaded.
  virtual void collect(std::vector<LoweredOp*>&) {}
  virtual void collect_checks(Checks&) const {}
};

// Whether the op is implemented by an instruction.
bool is_instruction(const KernelSpec& spec, Runtime& runtime);

// Runs of one program are enqueued one at a time, with the device's lock held. The caller provides
// the memory for intermediate values.
class Program {
 public:
  Program(const Graph& graph, GpuDevice& device, bool specialize);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  struct Bindings {
    std::span<void* const> inputs;   // by graph input
    std::span<void* const> states;   // by graph state; updated in place
    std::span<void* const> outputs;  // by graph output
    std::byte* workspace = nullptr;  // workspace_bytes(), aligned to 256
  };
  void enqueue(const Bindings& bindings, RunContext& context);

  // Describes what a run enqueues, one line each.
  std::string describe() const;
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t copied_bytes() const;  // after the last instruction
  // Whether it consists only of launches, and not too many: then a GPU can replay it.
  bool is_replayable(const CollectiveGroup* group) const {
    const bool alone = group == nullptr || group->size() == 1;
    return replayed_nodes_ <= kMaxReplayed && (alone || !communicates_);
  }
  int64_t replayed_nodes() const { return replayed_nodes_; }
  bool communicates() const { return communicates_; }
  const Checks& checks() const { return checks_; }

  // Compiles and loads its kernels, including those of nested programs. Called before it is run.
  void load();
  void collect(std::vector<LoweredOp*>& ops);

 private:
  // Making a graph of this many nodes takes about 0.1 s.
  static constexpr int64_t kMaxReplayed = 50'000;

  struct Placed {
    std::unique_ptr<Instruction> instruction;
    std::vector<passes::Location> in_at;
    std::vector<passes::Location> out_at;
    passes::Location scratch;
  };
  void* address(const passes::Location& location, const Bindings& bindings) const;

  GpuDevice& device_;
  std::vector<Placed> instructions_;
  std::vector<passes::Placement::Copy> copies_;  // after the last instruction
  std::vector<Tensor> constants_;                // on the device
  size_t workspace_bytes_ = 0;
  int64_t replayed_nodes_ = 0;
  bool communicates_ = false;
  Checks checks_;
};

}  // namespace cornu::cuda
