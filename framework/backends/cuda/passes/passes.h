// SPDX-License-Identifier: Apache-2.0
// Graph passes of the CUDA backend, in addition to those that all backends share.
#pragma once

#include "framework/graph/graph.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {

// What fuse_elementwise merges here.
inline constexpr passes::FusionChoices kFusion = {.sums_of_halves = true, .joins_small = true};

// Makes products, softmax and selections of the attentions that drop probabilities, and of their
// gradients, which find those probabilities made where `simplify` follows.
Graph expand_dropout(const Graph& graph);

// Fuses ops that the libraries have kernels for: bias and activation into matmul and conv, and into
// conv what is added to it before the activation (graph/passes/fuse_bias.h); convolutions pad
// themselves.
Graph fuse_kernels(const Graph& graph);

// The sum of each column and that of the squares of its elements less their mean, as batch
// normalization has them, become column_moments(x) {axes} -> (columns), (columns).
Graph fuse_moments(const Graph& graph);

// Elementwise ops on vectors whose other axes have the size 1 are computed without these axes.
Graph flatten_vectors(const Graph& graph);

// Makes one node of the reductions of an array's rows (its last axis, of 2 to 16384 elements) and
// the elementwise ops before, between and after them, as normalizations consist of:
//   fused_rows(x...) {body: Graph} -> values of the array's shape, or one for each row
// Operands have the array's shape, one element for each row or for each place in a row, or one for
// all. Other nodes stay as they are, those too that readers had better compute themselves.
Graph fuse_rows(const Graph& graph);

}  // namespace cornu::cuda
