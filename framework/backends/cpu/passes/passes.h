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

// graph/passes/update_rows.h, with rows in blocks that stay in caches; also for sums over replicas.
Graph update_rows(const Graph& graph);

}  // namespace cornu::cpu
