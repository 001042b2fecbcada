// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/placement.h"

#include <algorithm>
#include <numeric>

#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

class Placer {
 public:
  using Needs = std::function<KernelNeeds(const Placement::Instruction&)>;

  Placer(Graph graph, const Needs& needs, size_t alignment, RefusedValues refused)
      : graph_(std::move(graph)), needs_(needs), refused_(refused) {
    request_.alignment = alignment;
  }

  Placement run() {
    locations_.resize(graph_.types.size());
    make_instructions();
    ask_needs();
    locate_inputs();
    locate_states();
    locate_outputs();
    plan();
    finish();
    return std::move(placement_);
  }

 private:
  Location& location(ValueId id) { return locations_[static_cast<size_t>(id)]; }

  // Reduces the graph to nodes that compute something. Types are those before views are removed.
  void make_instructions() {
    std::vector<ValueId> replacement(graph_.types.size());
    std::iota(replacement.begin(), replacement.end(), 0);
    std::vector<Node> nodes;
    for (Node& node : graph_.nodes) {
      if (node.op->traits.view) {
        replacement[static_cast<size_t>(node.outputs[0])] = node.inputs[0];
      } else if (node.is("constant")) {
        location(node.outputs[0]) = {Place::Constant,
                                     static_cast<int64_t>(placement_.constants.size())};
        placement_.constants.push_back(node.attributes.get_tensor("value"));
      } else {
        Placement::Instruction instruction;
        for (ValueId id : node.inputs) instruction.in.push_back(graph_.type(id));
        for (ValueId id : node.outputs) instruction.out.push_back(graph_.type(id));
        placement_.instructions.push_back(std::move(instruction));
        nodes.push_back(std::move(node));
      }
    }
    graph_.nodes = std::move(nodes);
    replace_uses(graph_, replacement);
  }

  void ask_needs() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      Placement::Instruction& instruction = placement_.instructions[i];
      instruction.node = graph_.nodes[i];
      KernelNeeds needs = needs_(instruction);
      std::erase_if(needs.may_alias, [&](const auto& pair) {
        return instruction.in[static_cast<size_t>(pair.first)].bytes() !=
               instruction.out[static_cast<size_t>(pair.second)].bytes();
      });
      request_.scratch_bytes.push_back(needs.scratch_bytes);
      request_.may_alias.push_back(std::move(needs.may_alias));
    }
  }

  void locate_inputs() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      location(graph_.inputs[i]) = {Place::Input, static_cast<int64_t>(i)};
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      location(graph_.states[i].in) = {Place::State, static_cast<int64_t>(i)};
    }
  }

  void locate_states() {
    std::vector<int> last_read(graph_.types.size(), -1);
    const int end = static_cast<int>(graph_.nodes.size());
    int last_check = -1;
    for (int i = 0; i < end; ++i) {
      const Node& node = graph_.nodes[static_cast<size_t>(i)];
      for (ValueId id : node.inputs) last_read[static_cast<size_t>(id)] = i;
      if (node.op->traits.checks_values && refused_ == RefusedValues::Throw) last_check = i;
    }
    for (ValueId id : graph_.outputs) last_read[static_cast<size_t>(id)] = end;
    for (const StateBinding& state : graph_.states) {
      if (state.out != state.in) last_read[static_cast<size_t>(state.out)] = end;
    }
    const std::vector<int32_t> producers = graph_.producers();
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const StateBinding& state = graph_.states[s];
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
    const Node& node = graph_.nodes[static_cast<size_t>(producer)];
    const auto& allowed = request_.may_alias[static_cast<size_t>(producer)];
    for (size_t in = 0; in < node.inputs.size(); ++in) {
      if (node.inputs[in] != state.in) continue;
      const bool ok = std::ranges::any_of(allowed, [&](const auto& pair) {
        return pair.first == static_cast<int>(in) &&
               node.outputs[static_cast<size_t>(pair.second)] == state.out;
      });
      if (!ok) return false;
    }
    return true;
  }

  void locate_outputs() {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId id = graph_.outputs[i];
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
    const MemoryPlan plan = plan_memory(graph_, request_);
    for (size_t id = 0; id < locations_.size(); ++id) {
      if (plan.offsets[id] >= 0) locations_[id] = {Place::Workspace, plan.offsets[id]};
    }
    size_t bytes = plan.bytes;
    // Values in state memory are copied to the workspace before any state is overwritten.
    for (const auto& [id, to] : output_copies_) add_copy(location(id), to, id);
    std::vector<Placement::Copy> second;
    for (const auto& [id, to] : state_copies_) {
      Location from = location(id);
      if (from.place == Place::State) {
        const Location aside{Place::Workspace, static_cast<int64_t>(bytes)};
        bytes += (graph_.type(id).bytes() + request_.alignment - 1) / request_.alignment *
                 request_.alignment;
        add_copy(from, aside, id);
        from = aside;
      }
      second.push_back({from, to, graph_.type(id).bytes()});
    }
    placement_.copies.insert(placement_.copies.end(), second.begin(), second.end());
    placement_.workspace_bytes = bytes;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (plan.scratch[i] < 0) continue;
      placement_.instructions[i].scratch = {Place::Workspace, plan.scratch[i]};
    }
  }

  void add_copy(const Location& from, const Location& to, ValueId id) {
    placement_.copies.push_back({from, to, graph_.type(id).bytes()});
  }

  void finish() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      Placement::Instruction& instruction = placement_.instructions[i];
      for (ValueId id : node.inputs) instruction.in_at.push_back(known(id));
      for (ValueId id : node.outputs) {
        instruction.out_at.push_back(known(id));
        instruction.writes_state |= location(id).place == Place::State;
      }
    }
  }

  const Location& known(ValueId id) {
    const Location& where = location(id);
    CORNU_ASSERT(where.place != Place::None, ==, true);
    return where;
  }

  Graph graph_;  // without views and constants
  const Needs& needs_;
  RefusedValues refused_;
  Placement placement_;
  std::vector<Location> locations_;  // by value
  MemoryRequest request_;
  std::vector<std::pair<ValueId, Location>> state_copies_;
  std::vector<std::pair<ValueId, Location>> output_copies_;
};

}  // namespace

size_t copied_bytes(std::span<const Placement::Copy> copies) {
  size_t bytes = 0;
  for (const Placement::Copy& copy : copies) bytes += copy.bytes;
  return bytes;
}

Placement place_values(Graph graph,
                       const std::function<KernelNeeds(const Placement::Instruction&)>& needs,
                       size_t alignment, RefusedValues refused) {
  return Placer(std::move(graph), needs, alignment, refused).run();
}

}  // namespace cornu::passes
