// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/graph/passes/first_fit.h"
#include "framework/graph/passes/pass.h"

namespace cornu::passes {
namespace {

// A block of memory in use from node `first` to node `last`, both inclusive.
struct Block {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
  int64_t offset = MemoryPlan::kNone;
};

struct Lifetimes {
  std::vector<int> last_use;  // by value
};

Lifetimes lifetimes(const Graph& graph) {
  Lifetimes result;
  result.last_use.assign(graph.types.size(), -1);
  const int end = static_cast<int>(graph.nodes.size());
  for (int i = 0; i < end; ++i) {
    const Node& node = graph.nodes[static_cast<size_t>(i)];
    for (ValueId id : node.inputs) result.last_use[static_cast<size_t>(id)] = i;
    for (ValueId id : node.outputs) result.last_use[static_cast<size_t>(id)] = i;
  }
  for (ValueId id : graph.outputs) result.last_use[static_cast<size_t>(id)] = end;
  for (const StateBinding& state : graph.states) {
    result.last_use[static_cast<size_t>(state.out)] = end;
  }
  return result;
}

// Whether the node's output `to` may be placed over its input `from`, considering that the node may
// read that value through other inputs, too.
bool may_lie_over(const Node& node, const std::vector<std::pair<int, int>>& allowed, int from,
                  int to) {
  const ValueId value = node.inputs[static_cast<size_t>(from)];
  for (size_t in = 0; in < node.inputs.size(); ++in) {
    if (node.inputs[in] != value) continue;
    const std::pair<int, int> pair(static_cast<int>(in), to);
    if (std::find(allowed.begin(), allowed.end(), pair) == allowed.end()) return false;
  }
  return true;
}

// Places the largest blocks first, each at the lowest offset that is free during its whole
// lifetime.
size_t place(std::vector<Block>& blocks, int times) {
  std::vector<size_t> order(blocks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  FirstFit memory(times);
  size_t total = 0;
  for (size_t index : order) {
    Block& block = blocks[index];
    const size_t offset = memory.place(block.bytes, block.first, block.last);
    block.offset = static_cast<int64_t>(offset);
    total = std::max(total, offset + block.bytes);
  }
  return total;
}

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const MemoryRequest& request) {
  const Lifetimes lives = lifetimes(graph);
  const auto aligned = [&](size_t bytes) {
    return (bytes + request.alignment - 1) / request.alignment * request.alignment;
  };
  std::vector<Block> blocks;
  std::vector<int> block_of(graph.types.size(), -1);
  std::vector<int> scratch_block(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const int now = static_cast<int>(i);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const auto out = static_cast<size_t>(node.outputs[k]);
      if (!request.needs_memory[out]) continue;
      // In place, over an input that no later node reads.
      for (const auto& [from, to] : request.may_alias[i]) {
        if (to != static_cast<int>(k)) continue;
        const auto in = static_cast<size_t>(node.inputs[static_cast<size_t>(from)]);
        const int block = block_of[in];
        if (block < 0 || lives.last_use[in] != now ||
            blocks[static_cast<size_t>(block)].last != now ||
            graph.types[in].bytes() != graph.types[out].bytes() ||
            !may_lie_over(node, request.may_alias[i], from, to)) {
          continue;
        }
        block_of[out] = block;
        blocks[static_cast<size_t>(block)].last = lives.last_use[out];
        break;
      }
      if (block_of[out] >= 0) continue;
      block_of[out] = static_cast<int>(blocks.size());
      blocks.push_back({aligned(graph.types[out].bytes()), now, lives.last_use[out]});
    }
    if (request.scratch_bytes[i] > 0) {
      scratch_block[i] = static_cast<int>(blocks.size());
      blocks.push_back({aligned(request.scratch_bytes[i]), now, now});
    }
  }
  MemoryPlan plan;
  plan.bytes = place(blocks, static_cast<int>(graph.nodes.size()) + 1);
  auto offset = [&](int block) {
    return block < 0 ? MemoryPlan::kNone : blocks[static_cast<size_t>(block)].offset;
  };
  for (int block : block_of) plan.offsets.push_back(offset(block));
  for (int block : scratch_block) plan.scratch.push_back(offset(block));
  return plan;
}

}  // namespace cornu::passes
