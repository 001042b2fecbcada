// SPDX-License-Identifier: Apache-2.0
// Graph passes of the CUDA backend, in addition to those that all backends share.
#pragma once

#include "framework/graph/graph.h"

namespace cornu::cuda {

// Fuses ops that the libraries have kernels for: bias and activation into matmul and conv, and into
// conv what is added to it before the activation (graph/passes/fuse_bias.h); convolutions pad
// themselves.
Graph fuse_kernels(const Graph& graph);

// The sum of each column and that of the squares of its elements less their mean, as batch
// normalization has them, become column_moments(x) {axes} -> (columns), (columns).
Graph fuse_moments(const Graph& graph);

// Elementwise ops on vectors whose other axes have the size 1 are computed without these axes.
Graph flatten_vectors(const Graph& graph);

}  // namespace cornu::cuda
