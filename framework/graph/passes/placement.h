// SPDX-License-Identifier: Apache-2.0
// Where the values of a compiled graph lie: what every backend's programs have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::passes {

enum class Place : uint8_t { None, Workspace, Input, State, Output, Constant };

struct Location {
  Place place = Place::None;
  int64_t at = 0;  // an offset in the workspace, else an index
};

// What a node's kernel needs: scratch memory, and (input, output) pairs that may share memory.
struct KernelNeeds {
  size_t scratch_bytes = 0;
  std::vector<std::pair<int, int>> may_alias;
};

struct Placement {
  // One kernel: a node that is neither a view nor a constant.
  struct Instruction {
    Node node;
    std::vector<TensorType> in;
    std::vector<TensorType> out;
    std::vector<Location> in_at;
    std::vector<Location> out_at;
    Location scratch;  // None without
    bool writes_state = false;
  };
  struct Copy {
    Location from;
    Location to;
    size_t bytes = 0;
  };
  std::vector<Instruction> instructions;  // in the order in which they run
  std::vector<Copy> copies;               // after the last instruction, in order
  std::vector<Tensor> constants;
  size_t workspace_bytes = 0;
};

// Gives every value a place: one planned block for what is computed on the way, the memory of
// inputs, states and outputs otherwise. The new value of a state is computed in its memory if
// nothing reads the old one after that, and no later node throws for values of its inputs; else
// it is copied there at the end. `needs` is asked once for each instruction, in order; pairs that
// differ in size are ignored. Places in the block are multiples of `alignment`.
enum class RefusedValues : uint8_t { Throw, AreNoted };  // then what was written is poisoned
Placement place_values(Graph graph,
                       const std::function<KernelNeeds(const Placement::Instruction&)>& needs,
                       size_t alignment = 64, RefusedValues refused = RefusedValues::Throw);

// The address of a value, given where a run has its `inputs`, `states`, `outputs` and `workspace`;
// null without a place.
template <class Bindings>
void* address_of(const Location& location, const Bindings& bindings,
                 std::span<const Tensor> constants) {
  const auto index = static_cast<size_t>(location.at);
  switch (location.place) {
    case Place::Workspace:
      return bindings.workspace + location.at;
    case Place::Input:
      return const_cast<void*>(static_cast<const void*>(bindings.inputs[index]));
    case Place::State:
      return bindings.states[index];
    case Place::Output:
      return bindings.outputs[index];
    case Place::Constant:
      return const_cast<std::byte*>(constants[index].address());
    case Place::None:
      break;
  }
  return nullptr;
}

// Of all copies together.
size_t copied_bytes(std::span<const Placement::Copy> copies);

}  // namespace cornu::passes
