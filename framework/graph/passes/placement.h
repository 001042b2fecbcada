// SPDX-License-Identifier: Apache-2.0
// Memory locations of the values of a compiled graph, shared by the programs of all backends.
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

// The requirements of a node's kernel: scratch memory, and (input, output) pairs that may share
// memory.
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
    Location scratch;  // None if it needs none
    bool writes_state = false;
  };
  struct Copy {
    Location from;
    Location to;
    size_t bytes = 0;
  };
  std::vector<Instruction> instructions;  // in execution order
  std::vector<Copy> copies;               // performed in order after the last instruction
  std::vector<Tensor> constants;
  size_t workspace_bytes = 0;
};

// Assigns a location to every value: a single planned block for intermediate values, otherwise the
// memory of inputs, states and outputs. The new value of a state is computed in its memory if
// nothing reads the old value after that, and no later node throws for values of its inputs;
// otherwise it is copied there at the end. `needs` is called once for each instruction, in order;
// pairs that differ in size are ignored. Offsets in the block are multiples of `alignment`.
enum class RefusedValues : uint8_t { Throw, AreNoted };  // AreNoted poisons written variables
Placement place_values(Graph graph,
                       const std::function<KernelNeeds(const Placement::Instruction&)>& needs,
                       size_t alignment = 64, RefusedValues refused = RefusedValues::Throw);

// The address of a value, given the `inputs`, `states`, `outputs` and `workspace` of a run; null if
// it has no location.
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

// The total size of all copies.
size_t copied_bytes(std::span<const Placement::Copy> copies);

}  // namespace cornu::passes
