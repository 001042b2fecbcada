// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "framework/backends/cpu/passes/passes.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cpu {

Graph optimize(Graph graph, const std::string& name) {
  const passes::Evaluator evaluate = [](const OpDef& op, std::span<const Tensor> inputs,
                                        const Attributes& attributes,
                                        std::span<const TensorType> types) {
    return cpu_backend().execute(op, inputs, attributes, types, Device{});
  };
  int number = 0;
  passes::dump_graph(graph, name, "traced", number++);
  auto run = [&](const char* pass, Graph after) {
    graph = std::move(after);
    passes::dump_graph(graph, name, pass, number++);
  };
  run("simplify", passes::simplify(graph, evaluate));
  run("layout", passes::layout(graph));
  run("simplify_convs", simplify_convs(graph));
  run("fuse_kernels", fuse_kernels(graph));
  run("simplify", passes::simplify(graph, evaluate));
  run("fuse_elementwise", passes::fuse_elementwise(graph));
  run("overlap_collectives", passes::overlap_collectives(std::move(graph)));
  return graph;
}

namespace {

// Whether the node's output is its input's memory with another shape.
bool is_view(const Node& node) {
  return node.is("reshape") || node.is("identity") || node.is("stop_gradient");
}

}  // namespace

// Assigns a location to each value, then prepares the instructions.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(Program& program) : program_(program), plan_graph_(program.graph_) {}

  void build() {
    capture_types();
    remove_views_and_constants();
    make_kernels();
    locate_inputs();
    locate_states();
    locate_outputs();
    plan();
    finish();
  }

 private:
  using Place = Program::Place;
  using Location = Program::Location;

  Location& location(ValueId id) { return locations_[static_cast<size_t>(id)]; }

  void capture_types() {
    locations_.resize(plan_graph_.types.size());
    for (const Node& node : plan_graph_.nodes) {
      Types types;
      for (ValueId id : node.inputs) types.in.push_back(plan_graph_.type(id));
      for (ValueId id : node.outputs) types.out.push_back(plan_graph_.type(id));
      types_.push_back(std::move(types));
    }
  }

  void remove_views_and_constants() {
    std::vector<ValueId> replacement(plan_graph_.types.size());
    std::iota(replacement.begin(), replacement.end(), 0);
    std::vector<Node> nodes;
    std::vector<Types> types;
    for (size_t i = 0; i < plan_graph_.nodes.size(); ++i) {
      Node& node = plan_graph_.nodes[i];
      if (is_view(node)) {
        replacement[static_cast<size_t>(node.outputs[0])] = node.inputs[0];
      } else if (node.is("constant")) {
        location(node.outputs[0]) = {Place::Constant,
                                     static_cast<int64_t>(program_.constants_.size())};
        program_.constants_.push_back(node.attributes.get_tensor("value"));
      } else {
        nodes.push_back(std::move(node));
        types.push_back(std::move(types_[i]));
      }
    }
    plan_graph_.nodes = std::move(nodes);
    types_ = std::move(types);
    passes::replace_uses(plan_graph_, replacement);
  }

  void make_kernels() {
    for (size_t i = 0; i < plan_graph_.nodes.size(); ++i) {
      const Node& node = plan_graph_.nodes[i];
      const KernelSpec spec{*node.op, node.attributes, types_[i].in, types_[i].out};
      Program::Instruction instruction;
      instruction.kernel = kernel_table().make(spec);
      request_.scratch_bytes.push_back(instruction.kernel->scratch_bytes());
      request_.may_alias.push_back(aliases(*instruction.kernel, spec));
      program_.instructions_.push_back(std::move(instruction));
    }
  }

  void locate_inputs() {
    for (size_t i = 0; i < plan_graph_.inputs.size(); ++i) {
      location(plan_graph_.inputs[i]) = {Place::Input, static_cast<int64_t>(i)};
    }
    for (size_t i = 0; i < plan_graph_.states.size(); ++i) {
      location(plan_graph_.states[i].in) = {Place::State, static_cast<int64_t>(i)};
    }
  }

  // Computes the new value of a state directly into its memory if nothing reads the old one after
  // that, and no later node may throw for values of its inputs.
  void locate_states() {
    std::vector<int> last_read(plan_graph_.types.size(), -1);
    const int end = static_cast<int>(plan_graph_.nodes.size());
    int last_check = -1;
    for (int i = 0; i < end; ++i) {
      const Node& node = plan_graph_.nodes[static_cast<size_t>(i)];
      for (ValueId id : node.inputs) last_read[static_cast<size_t>(id)] = i;
      if (node.op->traits.checks_values) last_check = i;
    }
    for (ValueId id : plan_graph_.outputs) last_read[static_cast<size_t>(id)] = end;
    for (const StateBinding& state : plan_graph_.states) {
      if (state.out != state.in) last_read[static_cast<size_t>(state.out)] = end;
    }
    const std::vector<int32_t> producers = plan_graph_.producers();
    for (size_t s = 0; s < plan_graph_.states.size(); ++s) {
      const StateBinding& state = plan_graph_.states[s];
      const Location memory{Place::State, static_cast<int64_t>(s)};
      if (state.out == state.in) continue;
      const int32_t producer = producers[static_cast<size_t>(state.out)];
      const int last = last_read[static_cast<size_t>(state.in)];
      const bool free = location(state.out).place == Place::None && producer > last_check &&
                        (last < producer || (last == producer && in_place(producer, state)));
      if (free) {
        location(state.out) = memory;
      } else {
        state_copies_.push_back({state.out, memory});
      }
    }
  }

  bool in_place(int32_t producer, const StateBinding& state) const {
    const Node& node = plan_graph_.nodes[static_cast<size_t>(producer)];
    const auto& allowed = request_.may_alias[static_cast<size_t>(producer)];
    for (size_t in = 0; in < node.inputs.size(); ++in) {
      if (node.inputs[in] != state.in) continue;
      const bool ok = std::any_of(allowed.begin(), allowed.end(), [&](const auto& pair) {
        return pair.first == static_cast<int>(in) &&
               node.outputs[static_cast<size_t>(pair.second)] == state.out;
      });
      if (!ok) return false;
    }
    return true;
  }

  void locate_outputs() {
    for (size_t i = 0; i < plan_graph_.outputs.size(); ++i) {
      const ValueId id = plan_graph_.outputs[i];
      const Location memory{Place::Output, static_cast<int64_t>(i)};
      if (location(id).place == Place::None) {
        location(id) = memory;
      } else {
        output_copies_.push_back({id, memory});
      }
    }
  }

  void plan() {
    for (const Location& where : locations_) {
      request_.needs_memory.push_back(where.place == Place::None);
    }
    passes::MemoryPlan plan = passes::plan_memory(plan_graph_, request_);
    for (size_t id = 0; id < locations_.size(); ++id) {
      if (plan.offsets[id] >= 0) locations_[id] = {Place::Workspace, plan.offsets[id]};
    }
    size_t bytes = plan.bytes;
    // Values in state memory are copied to the workspace before any state is overwritten.
    for (const auto& [id, to] : output_copies_) add_copy(location(id), to, id);
    std::vector<Program::Copy> second;
    for (const auto& [id, to] : state_copies_) {
      Location from = location(id);
      if (from.place == Place::State) {
        const Location aside{Place::Workspace, static_cast<int64_t>(bytes)};
        bytes += (plan_graph_.type(id).bytes() + 63) / 64 * 64;
        add_copy(from, aside, id);
        from = aside;
      }
      second.push_back({from, to, plan_graph_.type(id).bytes()});
    }
    program_.copies_.insert(program_.copies_.end(), second.begin(), second.end());
    program_.workspace_bytes_ = bytes;
    for (size_t i = 0; i < program_.instructions_.size(); ++i) {
      if (plan.scratch[i] < 0) continue;
      const Node& node = plan_graph_.nodes[i];
      program_.workspace_patches_.push_back(
          {static_cast<uint32_t>(i),
           static_cast<uint32_t>(node.inputs.size() + node.outputs.size()),
           {Place::Workspace, plan.scratch[i]}});
    }
  }

  void add_copy(const Location& from, const Location& to, ValueId id) {
    program_.copies_.push_back({from, to, plan_graph_.type(id).bytes()});
  }

  void finish() {
    for (size_t i = 0; i < program_.instructions_.size(); ++i) {
      const Node& node = plan_graph_.nodes[i];
      Program::Instruction& instruction = program_.instructions_[i];
      uint32_t slot = 0;
      for (ValueId id : node.inputs) instruction.in.push_back(fixed(id, i, slot++));
      for (ValueId id : node.outputs) {
        instruction.out.push_back(fixed(id, i, slot++));
        instruction.writes_state |= location(id).place == Place::State;
      }
    }
  }

  void* fixed(ValueId id, size_t instruction, uint32_t slot) {
    const Location& where = location(id);
    CORNU_ASSERT(where.place != Place::None, ==, true);
    if (where.place == Place::Constant) return program_.address(where, {});
    auto& patches =
        where.place == Place::Workspace ? program_.workspace_patches_ : program_.patches_;
    patches.push_back({static_cast<uint32_t>(instruction), slot, where});
    return nullptr;
  }

  // Values of different sizes don't share memory.
  static Aliases aliases(const Kernel& kernel, const KernelSpec& spec) {
    Aliases result = kernel.may_alias();
    std::erase_if(result, [&](const auto& pair) {
      return spec.inputs[static_cast<size_t>(pair.first)].bytes() !=
             spec.outputs[static_cast<size_t>(pair.second)].bytes();
    });
    return result;
  }

  struct Types {
    std::vector<TensorType> in;
    std::vector<TensorType> out;
  };
  Program& program_;
  Graph plan_graph_;  // without views and constants
  std::vector<Types> types_;
  std::vector<Location> locations_;
  passes::MemoryRequest request_;
  std::vector<std::pair<ValueId, Location>> state_copies_;
  std::vector<std::pair<ValueId, Location>> output_copies_;
};

Program::Program(Graph graph) : graph_(std::move(graph)) { ProgramBuilder(*this).build(); }
Program::~Program() = default;

void* Program::address(const Location& location, const Bindings& bindings) const {
  const auto index = static_cast<size_t>(location.at);
  switch (location.place) {
    case Place::Workspace:
      return bindings.workspace + location.at;
    case Place::Input:
      return const_cast<void*>(bindings.inputs[index]);
    case Place::State:
      return bindings.states[index];
    case Place::Output:
      return bindings.outputs[index];
    case Place::Constant:
      return const_cast<std::byte*>(constants_[index].raw());
    case Place::None:
      break;
  }
  return nullptr;
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
  for (Instruction& instruction : instructions_) {
    states_touched_ |= instruction.writes_state;
    instruction.kernel->run({.in = instruction.in.data(),
                             .out = instruction.out.data(),
                             .scratch = instruction.scratch,
                             .group = bindings.group});
  }
  for (const Copy& copy : copies_) {
    if (copy.bytes == 0) continue;
    states_touched_ |= copy.to.place == Place::State;
    std::memcpy(address(copy.to, bindings), address(copy.from, bindings), copy.bytes);
  }
}

}  // namespace cornu::cpu
