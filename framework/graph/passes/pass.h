// SPDX-License-Identifier: Apache-2.0
// Graph passes: pure functions Graph -> Graph, each in its own file.
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

// Runs an op on constants, for constant folding in simplify. If empty, nothing is folded.
using Evaluator = std::function<std::vector<Tensor>(
    const OpDef&, std::span<const Tensor>, const Attributes&, std::span<const TensorType>)>;

// Removes dead nodes, merges equal nodes (common subexpressions), folds constants and applies
// algebraic identities (x + 0, x * 1, reshape of reshape, cast to the same dtype, …). Values are
// bitwise unchanged, except that a sum with zero may turn -0 into 0.
Graph simplify(const Graph& graph, const Evaluator& evaluate = {});

// Chooses the order of axes in which values are stored, so that transposes vanish: they cancel each
// other, become flags of a matmul or reshapes, and move after elementwise ops and reductions until
// they can. Remaining ones move no more memory than before.
Graph layout(const Graph& graph);

// Merges zero-padding of an input into the convolution that reads it, and computes only the part of
// a convolution's input gradient that is read.
Graph pad_convs(const Graph& graph);

// Merges connected elementwise nodes of the same shape into "fused" nodes: fused(x...) {body:
// Graph}, whose outputs have that shape, or are sums of such values over all axes or all but the
// last. A group recomputes a value of another group if that takes a few cheap operations and no
// more reads, so that less memory is written and kept. The op has no vjp, since passes run after
// differentiation.
struct FusionChoices {
  bool sums_of_halves = false;  // also compute sums of 16-bit floats in groups
  // Merge groups of small arrays that read each other, to save launches.
  bool joins_small = false;
};
Graph fuse_elementwise(const Graph& graph, const FusionChoices& choices = {});
const OpDef& fused_op();

// For each region (RematRegion), keeps the values that are also read elsewhere, and makes gradients
// recompute the others right before they read them, from kept values behind an
// "optimization_barrier", which prevents the recomputation from being merged with the original.
// Same values, less memory. The last step of every trace.
Graph rematerialize(Graph graph);

// Moves factors of output channels into weights if both depend only on variables that the graph
// doesn't write: s * (conv(x, w) + b) becomes conv(x, s * w) + s * b, and likewise for matmul. For
// float32 and float64; sums are rounded differently. For batch normalization at inference.
Graph fold_scales(const Graph& graph);

// A graph split such that the first part depends only on constants and on variables that it doesn't
// write: it needs to run again only when the version of one of them changes.
struct PreparedGraph {
  Graph prepare;  // the same states, no inputs
  Graph rest;     // its last inputs are the outputs of `prepare`
};

// Returns nullopt if the first part is too small. It doesn't include views of variables, values
// that take much more memory than their operands, effects, collectives, and nodes that check
// values.
std::optional<PreparedGraph> split_prepared(const Graph& graph);

// Splits an all_reduce in two if other work can be done in the meantime: it starts when its
// operands are available, and is awaited where its results are needed:
//   all_reduce_start(x...) {reduce} -> pending results..., ticket (int64)
//   all_reduce_await(x..., results..., ticket) -> results...
// Collectives keep their order. Must be the last pass.
Graph overlap_collectives(Graph graph);

// Removes unused parts of loops: outputs that nothing reads, carries that only those need, and
// operands that the bodies no longer read. Also part of simplify.
Graph prune_loops(const Graph& graph);

// Turns sums of matrix products in a scan, one per iteration (the gradients of weights), into one
// product over the rows of all iterations, after the scan; and sums of reductions of values that it
// stacks anyway (the gradients of biases) into one reduction. The next step of simplify.
Graph batch_loop_sums(Graph graph);

// Turns a sum of parts of one tensor, each padded with zeros to the whole (the gradient of a
// split), into a concatenation. Also part of simplify.
Graph join_parts(const Graph& graph);

// The names of the collectives in the order that every rank must follow, for comparison between
// ranks: in graph order, including those in branches and bodies. Passes keep this order.
std::vector<std::string> collective_order(const Graph& graph);

// The position of every value of a graph in one block of memory.
struct MemoryPlan {
  static constexpr int64_t kNone = -1;  // inputs, states, constants: not in the block
  std::vector<int64_t> offsets;         // by value
  std::vector<int64_t> scratch;         // by node; kNone if it needs none
  size_t bytes = 0;
};

struct MemoryRequest {
  std::vector<size_t> scratch_bytes;  // by node
  // By node: (input, output) pairs that may share memory.
  std::vector<std::vector<std::pair<int, int>>> may_alias;
  std::vector<bool> needs_memory;  // by value
  size_t alignment = 64;           // of offsets, in bytes
};

// Assigns memory first-fit, by size, over lifetimes.
MemoryPlan plan_memory(const Graph& graph, const MemoryRequest& request);

// Whether a node must run exactly once even if nothing reads its outputs: it communicates or has an
// effect, either itself or in a graph that it runs.
bool must_run(const Node& node);

// Removes the nodes that aren't `kept`. Later ones than those, which a pass has appended, stay.
void keep_nodes(Graph& graph, const std::vector<bool>& kept);

// Keeps the nodes that something depends on, effects and collectives, in order.
Graph eliminate_dead_nodes(Graph graph);

// Replaces uses of values: `replacement[id]` is the id to read instead (`id` itself if unchanged).
void replace_uses(Graph& graph, const std::vector<ValueId>& replacement);

// By node: for a collective, the previous collective; otherwise -1.
std::vector<int32_t> previous_collectives(const Graph& graph);

// Sorts nodes topologically: each stays in place or moves up to just before its first reader;
// collectives keep their order. For passes that append nodes.
void sort_topologically(Graph& graph);

}  // namespace cornu::passes
