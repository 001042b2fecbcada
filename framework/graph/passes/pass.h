// SPDX-License-Identifier: Apache-2.0
// Graph passes: pure functions Graph -> Graph, each in a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::passes {

// Runs an op on constants, for constant folding in simplify. Empty: no folding.
using Evaluator = std::function<std::vector<Tensor>(
    const OpDef&, std::span<const Tensor>, const Attributes&, std::span<const TensorType>)>;

// Removes dead nodes, merges equal nodes (common subexpressions), folds constants and applies
// algebraic identities (x + 0, x * 1, reshape of reshape, cast to the same dtype, …). Values are
// unchanged to the bit except where a sum with zero turns -0 into 0.
Graph simplify(const Graph& graph, const Evaluator& evaluate = {});

// Chooses the order of axes in which values are stored, so that transposes vanish: they cancel each
// other, become flags of a matmul or reshapes, and move after elementwise ops and reductions until
// they can. Remaining ones move no more memory than before.
Graph layout(const Graph& graph);

// A convolution of an input that is padded with zeros pads itself, and of a convolution's input
// gradient only the part that is read is computed.
Graph pad_convs(const Graph& graph);

// Merges connected elementwise nodes of one shape into "fused" nodes: fused(x...) {body: Graph},
// whose outputs have that shape, or are sums of such values over all axes or all but the last. A
// group recomputes a value of another group if that takes a few cheap operations and no more reads,
// so that less memory is written and kept. It has no vjp: passes run after differentiation.
struct FusionChoices {
  bool sums_of_halves = false;  // 16-bit floats are summed up in groups, too
  // Groups of small arrays that read each other become one, for the sake of launches.
  bool joins_small = false;
};
Graph fuse_elementwise(const Graph& graph, const FusionChoices& choices = {});
const OpDef& fused_op();

// Of regions (RematRegion), gradients keep the values that others read, too, and compute what else
// they read once more, right before they read it, from kept values behind an
// "optimization_barrier": what was computed of a value isn't merged with what is computed behind
// that. Same values, less memory. Every trace ends with it.
Graph rematerialize(Graph graph);

// Moves factors of output channels into weights where both are made of variables that the graph
// doesn't write: s * (conv(x, w) + b) becomes conv(x, s * w) + s * b, and so for matmul. In float32
// and float64; sums are rounded otherwise. For batch normalization at inference.
Graph fold_scales(const Graph& graph);

// A graph whose first part is made of variables that it doesn't write, and of constants: it needs
// to run anew only when one of them has another version.
struct PreparedGraph {
  Graph prepare;  // the same states, no inputs
  Graph rest;     // its last inputs are the outputs of `prepare`
};

// None where that part is too small. Not in it: views of variables, what takes much more memory
// than it is made of, effects, collectives, and what checks values.
std::optional<PreparedGraph> split_prepared(const Graph& graph);

// Splits an all_reduce in two where other work can be done meanwhile: it starts when its operands
// are available, and is awaited where its results are needed:
//   all_reduce_start(x...) {reduce} -> pending results..., ticket (int64)
//   all_reduce_await(x..., results..., ticket) -> results...
// Collectives stay in their order. Must be the last pass.
Graph overlap_collectives(Graph graph);

// Removes from loops what nothing reads: outputs, carries that only those need, and operands that
// the bodies no longer read. simplify begins with it.
Graph prune_loops(const Graph& graph);

// Turns a scan's sums of matrix products, one per iteration (the gradients of weights), into one
// product over the rows of all iterations, after the scan; and its sums of sums over what it stacks
// anyway (those of biases) into one sum. simplify does it next.
Graph batch_loop_sums(Graph graph);

// Sums of parts of one tensor that are padded with zeros to the whole (the gradient of what was
// split) become a concatenation. Of simplify, too.
Graph join_parts(const Graph& graph);

// The names of the collectives in the order that every rank must follow, for the ranks to compare:
// in graph order, with those in branches and bodies. Passes keep this order.
std::vector<std::string> collective_order(const Graph& graph);

// The position of every value of a graph in one block of memory.
struct MemoryPlan {
  static constexpr int64_t kNone = -1;  // inputs, states, constants: not in the block
  std::vector<int64_t> offsets;         // by value
  std::vector<int64_t> scratch;         // by node; kNone without
  size_t bytes = 0;
};

struct MemoryRequest {
  std::vector<size_t> scratch_bytes;  // by node
  // By node: (input, output) pairs that may share memory.
  std::vector<std::vector<std::pair<int, int>>> may_alias;
  std::vector<bool> needs_memory;  // by value
  size_t alignment = 64;           // of offsets, in bytes
};

// First-fit by size over lifetimes.
MemoryPlan plan_memory(const Graph& graph, const MemoryRequest& request);

// Whether a node must run exactly once even when nothing reads its outputs: it communicates or has
// an effect, itself or in a graph that it runs.
bool must_run(const Node& node);

// Keeps the nodes that something depends on, effects and collectives, in order.
Graph eliminate_dead_nodes(Graph graph);

// Replaces uses of values: `replacement[id]` is the id to read instead (itself where unchanged).
void replace_uses(Graph& graph, const std::vector<ValueId>& replacement);

// By node: for a collective, the collective before it; else -1.
std::vector<int32_t> previous_collectives(const Graph& graph);

// Sorts nodes topologically: each stays in place or moves up to before its first reader;
// collectives stay in their order. For passes that append nodes.
void sort_topologically(Graph& graph);

}  // namespace cornu::passes
