// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/program.h"

#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/passes/passes.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/dump.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cpu {

namespace {

// A graph between its passes.
class Passes {
 public:
  Passes(Graph graph, const std::string& name) : graph_(std::move(graph)), dump_(name) {}

  void before_fusion() {
    const passes::Evaluator evaluate = [](const OpDef& op, std::span<const Tensor> inputs,
                                          const Attributes& attributes,
                                          std::span<const TensorType> types) {
      return cpu_backend().execute(op, inputs, attributes, types, Device{});
    };
    set("traced", std::move(graph_));
    set("simplify", passes::simplify(graph_, evaluate));
    set("layout", passes::layout(graph_));
    set("simplify_convs", simplify_convs(graph_));
    set("fold_scales", passes::fold_scales(graph_));
    set("fuse_kernels", fuse_kernels(graph_));
    set("simplify", passes::simplify(graph_, evaluate));
    set("update_rows", update_rows(graph_));
  }

  void fuse() {
    set("block_rows", block_rows(graph_));
    set("fuse_elementwise", passes::fuse_elementwise(graph_));
    set("overlap_collectives", passes::overlap_collectives(std::move(graph_)));
  }

  void set(const char* pass, Graph after) {
    graph_ = std::move(after);
    dump_.write(pass, graph_);
  }

  const Graph& graph() const { return graph_; }
  Graph take() { return std::move(graph_); }

 private:
  Graph graph_;
  passes::Dump dump_;
};

}  // namespace

Graph optimize(Graph graph, const std::string& name) {
  Passes passes(std::move(graph), name);
  passes.before_fusion();
  passes.fuse();
  return passes.take();
}

Optimized optimize_prepared(Graph graph, const std::string& name) {
  Passes passes(std::move(graph), name);
  passes.before_fusion();
  std::optional<Graph> prepare;
  if (auto split = passes::split_prepared(passes.graph())) {
    Passes own(std::move(split->prepare), name + "_prepare");
    own.fuse();
    prepare = own.take();
    passes.set("split_prepared", std::move(split->rest));
  }
  passes.fuse();
  return {passes.take(), std::move(prepare)};
}

std::vector<void*> allocate_outputs(const Graph& graph, std::vector<Tensor>& tensors) {
  std::vector<void*> memory;
  for (ValueId id : graph.outputs) {
    const TensorType& type = graph.type(id);
    tensors.push_back(Tensor::empty(type.shape, type.dtype));
    memory.push_back(tensors.back().mutable_raw());
  }
  return memory;
}

// Prepares the instructions of a program, with the memory assigned to its values.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(Program& program) : program_(program) {}

  void build() {
    passes::Placement placement = passes::place_values(
        program_.graph_, [&](const passes::Placement::Instruction& instruction) {
          return make_kernel(instruction);
        });
    program_.constants_ = std::move(placement.constants);
    program_.copies_ = std::move(placement.copies);
    program_.workspace_bytes_ = placement.workspace_bytes;
    find_aliases(placement);
    for (size_t i = 0; i < placement.instructions.size(); ++i) bind(placement.instructions[i], i);
  }

 private:
  passes::KernelNeeds make_kernel(const passes::Placement::Instruction& instruction) {
    const Node& node = instruction.node;
    Program::Instruction made;
    made.kernel = kernel_table().make({*node.op, node.attributes, instruction.in, instruction.out});
    program_.instructions_.push_back(std::move(made));
    const Kernel& kernel = *program_.instructions_.back().kernel;
    return {kernel.scratch_bytes(), kernel.may_alias()};
  }

  // By input or output: the last instruction that uses it, and its slot there; -1 for none, and for
  // several slots.
  struct LastUse {
    int instruction = -1;
    int slot = -1;
  };

  void find_aliases(const passes::Placement& placement) {
    if (!program_.copies_.empty()) return;
    const Graph& graph = program_.graph_;
    std::vector<LastUse> reads(graph.inputs.size()), writes(graph.outputs.size());
    const auto note = [](const std::vector<passes::Location>& places, passes::Place place,
                         int instruction, std::vector<LastUse>& uses) {
      for (size_t slot = 0; slot < places.size(); ++slot) {
        if (places[slot].place != place) continue;
        LastUse& use = uses[static_cast<size_t>(places[slot].at)];
        use = {instruction, use.instruction == instruction ? -1 : static_cast<int>(slot)};
      }
    };
    for (size_t i = 0; i < placement.instructions.size(); ++i) {
      note(placement.instructions[i].in_at, passes::Place::Input, static_cast<int>(i), reads);
      note(placement.instructions[i].out_at, passes::Place::Output, static_cast<int>(i), writes);
    }
    for (size_t i = 0; i < reads.size(); ++i) {
      for (size_t o = 0; o < writes.size(); ++o) {
        if (!(graph.type(graph.inputs[i]) == graph.type(graph.outputs[o]))) continue;
        if (may_be_one(reads[i], writes[o])) {
          program_.may_alias_.emplace_back(static_cast<int>(i), static_cast<int>(o));
        }
      }
    }
  }

  bool may_be_one(const LastUse& read, const LastUse& write) const {
    if (read.instruction != write.instruction) return read.instruction < write.instruction;
    if (read.instruction < 0) return false;
    const Aliases& own =
        program_.instructions_[static_cast<size_t>(read.instruction)].kernel->may_alias();
    return std::ranges::find(own, std::pair(read.slot, write.slot)) != own.end();
  }

  void bind(const passes::Placement::Instruction& placed, size_t index) {
    Program::Instruction& instruction = program_.instructions_[index];
    instruction.writes_state = placed.writes_state;
    uint32_t slot = 0;
    for (const passes::Location& at : placed.in_at) {
      instruction.in.push_back(fixed(at, index, slot++));
    }
    for (const passes::Location& at : placed.out_at) {
      instruction.out.push_back(fixed(at, index, slot++));
    }
    if (placed.scratch.place != passes::Place::None) fixed(placed.scratch, index, slot);
  }

  // The address of a constant; others are patched in when the program runs.
  void* fixed(const passes::Location& where, size_t instruction, uint32_t slot) {
    if (where.place == passes::Place::Constant) return program_.address(where, {});
    auto& patches =
        where.place == passes::Place::Workspace ? program_.workspace_patches_ : program_.patches_;
    patches.push_back({static_cast<uint32_t>(instruction), slot, where});
    return nullptr;
  }

  Program& program_;
};

Program::Program(Graph graph) : graph_(std::move(graph)) { ProgramBuilder(*this).build(); }
Program::~Program() = default;

void* Program::address(const passes::Location& location, const Bindings& bindings) const {
  return passes::address_of(location, bindings, constants_);
}

void Program::bind(const std::vector<Patch>& patches, const Bindings& bindings) {
  for (const Patch& patch : patches) {
    Instruction& instruction = instructions_[patch.instruction];
    void* pointer = address(patch.location, bindings);
    if (patch.slot < instruction.in.size()) {
      instruction.in[patch.slot] = pointer;
    } else if (const size_t out = patch.slot - instruction.in.size();
               out < instruction.out.size()) {
      instruction.out[out] = pointer;
    } else {
      instruction.scratch = pointer;
    }
  }
}

void Program::run(const Bindings& bindings) {
  states_touched_ = false;
  if (bindings.workspace != workspace_) {
    bind(workspace_patches_, bindings);
    workspace_ = bindings.workspace;
  }
  bind(patches_, bindings);
  if (bindings.ends) [[unlikely]] {
    run_instructions(bindings, [&] { bindings.ends->push_back(std::chrono::steady_clock::now()); });
  } else {
    run_instructions(bindings, [] {});
  }
}

template <class Done>
void Program::run_instructions(const Bindings& bindings, Done done) {
  for (Instruction& instruction : instructions_) {
    states_touched_ |= instruction.writes_state;
    instruction.kernel->run({.in = instruction.in.data(),
                             .out = instruction.out.data(),
                             .scratch = instruction.scratch,
                             .group = bindings.group});
    done();
  }
  if (copied_bytes() == 0) return;
  for (const passes::Placement::Copy& copy : copies_) {
    if (copy.bytes == 0) continue;
    states_touched_ |= copy.to.place == passes::Place::State;
    std::memcpy(address(copy.to, bindings), address(copy.from, bindings), copy.bytes);
  }
  done();
}

size_t Program::copied_bytes() const { return passes::copied_bytes(copies_); }

}  // namespace cornu::cpu
