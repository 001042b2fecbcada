// SPDX-License-Identifier: Apache-2.0
// Graph passes: pure functions Graph -> Graph, each in a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::passes {

// Runs an op on constants: what simplify folds with. Empty: no folding.
using Evaluator = std::function<std::vector<Tensor>(
    const OpDef&, std::span<const Tensor>, const Attributes&, std::span<const TensorType>)>;

// Removes what isn't needed and does what needn't wait: dead nodes, equal nodes (common
// subexpressions), constants folded, identities of algebra (x + 0, x * 1, reshape of reshape,
// cast to the same dtype, …). Values are unchanged to the bit except where a sum with zero turns
// -0 into 0.
Graph simplify(const Graph& graph, const Evaluator& evaluate = {});

// Chooses the order of axes in which values are kept, so that transposes vanish: they cancel each
// other, become flags of a matmul or reshapes, and move behind elementwise ops and reductions until
// they can. What is left moves no more memory than before.
Graph layout(const Graph& graph);

// Gathers connected elementwise nodes of one shape into "fused" nodes: fused(x...) {body: Graph},
// whose outputs have that shape, or are sums of such values over all axes or all but the last. A
// group computes what another one makes by a few cheap operations again where it reads no more for
// that, so that less is written to memory and kept. It has no vjp: passes run after
// differentiation.
Graph fuse_elementwise(const Graph& graph);

// Splits an all_reduce in two where there is something to do while it is under way: it begins when
// its operands are there, and is awaited where its results are needed:
//   all_reduce_start(x...) {reduce} -> results that aren't there yet..., ticket (int64)
//   all_reduce_await(x..., results..., ticket) -> results...
// Collectives stay in their order. Comes last.
Graph overlap_collectives(Graph graph);

// Takes from loops what nothing reads: outputs of theirs, carries that serve those alone, operands
// that their bodies read no more. simplify begins with it.
Graph prune_loops(const Graph& graph);

// A scan's sums of matrix products, one a turn (the gradients of weights), become one product of
// all turns' rows behind it. simplify does it next.
Graph batch_loop_sums(Graph graph);

// The names of the collectives in the one order that every rank must follow, for the ranks to
// compare: as they stand, those in branches and bodies too. Passes keep them in this order.
std::vector<std::string> collective_order(const Graph& graph);

// Where every value of a graph lives in one block of memory.
struct MemoryPlan {
  static constexpr int64_t kNone = -1;  // inputs, states, constants: memory of their own
  std::vector<int64_t> offsets;         // by value
  std::vector<int64_t> scratch;         // by node; kNone without
  size_t bytes = 0;
};

struct MemoryRequest {
  std::vector<size_t> scratch_bytes;  // by node
  // By node: (input, output) pairs that may share memory.
  std::vector<std::vector<std::pair<int, int>>> may_alias;
  std::vector<bool> needs_memory;  // by value
};

// First-fit by size over lifetimes; offsets are multiples of 64.
MemoryPlan plan_memory(const Graph& graph, const MemoryRequest& request);

// Writes the graph's text to $CORNU_DUMP_GRAPH/<name>.<number>.<pass>.txt where that is set.
void dump_graph(const Graph& graph, const std::string& name, const std::string& pass, int number);

// Whether a node is run even when nothing reads its outputs, and exactly once: it communicates or
// has an effect, itself or in a graph that it runs.
bool must_run(const Node& node);

// Nodes that something depends on, in order; the rest is dropped (effects and collectives stay).
Graph eliminate_dead_nodes(Graph graph);

// Replaces uses of values: `replacement[id]` is the id to read instead (itself where unchanged).
void replace_uses(Graph& graph, const std::vector<ValueId>& replacement);

// By node: where it communicates, the node before it that does; else -1.
std::vector<int32_t> previous_collectives(const Graph& graph);

// Sorts nodes topologically: each stays where it is, or moves up to before its first reader;
// collectives stay in their order. For passes that append nodes.
void sort_topologically(Graph& graph);

}  // namespace cornu::passes
