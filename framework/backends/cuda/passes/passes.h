// SPDX-License-Identifier: Apache-2.0
// Graph passes of the CUDA backend, in addition to those shared by all backends.
#pragma once

#include "framework/graph/graph.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {

// The choices of fuse_elementwise for this backend.
inline constexpr passes::FusionChoices kFusion = {.sums_of_halves = true, .joins_small = true};

// Expands attentions with dropout into products, softmax and selections. Also expands their
// gradients, which reuse the forward probabilities if `simplify` follows.
Graph expand_dropout(const Graph& graph);

// Fuses ops that the libraries have kernels for: bias and activation into matmul and conv, and into
// conv also what is added to it before the activation (graph/passes/fuse_bias.h); convolutions pad
// their inputs themselves.
Graph fuse_kernels(const Graph& graph);

// The sum of each column and the sum of the squared deviations of its elements from the mean, as in
// batch normalization, become column_moments(x) {axes} -> (columns), (columns).
Graph fuse_moments(const Graph& graph);

// Elementwise ops on arrays with a single axis of a size other than 1 are computed as vectors.
Graph flatten_vectors(const Graph& graph);

// Merges the reductions of an array's rows (its last axis, of 2 to 16384 elements) and the
// elementwise ops before, between and after them, as in normalizations, into one node:
//   fused_rows(x...) {body: Graph} -> values of the array's shape, or one for each row
// Operands have the array's shape, one element per row, one per position in a row, or a single
// element. Other nodes are left unchanged, including those that are better computed by their
// readers.
Graph fuse_rows(const Graph& graph);

}  // namespace cornu::cuda
