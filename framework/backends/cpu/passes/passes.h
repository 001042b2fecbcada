// SPDX-License-Identifier: Apache-2.0
// Graph passes of the CPU backend, in addition to those that all backends share.
#pragma once

#include "framework/graph/graph.h"

namespace cornu::cpu {

// Convolutions that another op computes better: with filters of one position they become matrix
// products, as do their gradients (a blocked convolution would reorder the filter at each step); a
// convolution of a zero-padded input does the padding itself, and of an input gradient only the
// part that is read is computed.
Graph simplify_convs(const Graph& graph);

// Fuses ops that the CPU has kernels for (internal_ops.h): bias and activation into matmul and
// conv, relu and max-pooling into one, a single-channel conv with its pooling into one, and their
// gradients; dropout masks are made without storing the random numbers that decide them.
Graph fuse_kernels(const Graph& graph);

struct RowBlockChoices {
  int64_t least_bytes = int64_t{2} << 20;    // of arrays: smaller ones stay in caches anyway
  int64_t block_bytes = int64_t{128} << 10;  // of an array's rows in a block
};
// Reductions of the rows of large arrays (all axes but the first ones) and the elementwise ops
// before, between and after them, as in normalizations and losses, become one node, "row_blocks",
// that computes a few rows at a time, which stay in a core's cache. Nodes that are better computed
// by their readers are left as they are.
Graph block_rows(const Graph& graph, const RowBlockChoices& choices = {});

// graph/passes/update_rows.h, with rows in blocks that stay in caches; also for sums over replicas.
Graph update_rows(const Graph& graph);

}  // namespace cornu::cpu
