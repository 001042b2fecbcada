// SPDX-License-Identifier: Apache-2.0
// Graph passes of the CPU backend, in addition to those that all backends share.
#pragma once

#include "framework/graph/graph.h"

namespace cornu::cpu {

// Convolutions that another op does better: with filters of one position they become matrix
// products, as do their gradients (a blocked convolution would reorder the filter at each step); a
// convolution of a zero-padded input pads itself, and of an input gradient only the part that is
// read is computed.
Graph simplify_convs(const Graph& graph);

// Fuses ops that the CPU has kernels for (internal_ops.h): bias and activation into matmul and
// conv, relu and max-pooling into one, a single-channel conv with its pooling into one, and their
// gradients.
Graph fuse_kernels(const Graph& graph);

// Where an optimizer's update leaves the rows of a variable as they are that no index of a gradient
// names (of an embedding by SGD without momentum, or Adagrad), only the others are read and
// written: the gradient is never as large as the table. For gradients of few rows. Of sums over
// replicas that are said to be sparse (all_reduce_sparse), rows travel in place of tables.
//
// The same bits, but for these. The sum of several lookups in one table is rounded otherwise. Zero
// times, or over, what there is counts as zero, so that what isn't finite (a learning rate, 0 / 0
// where nothing was accumulated yet) spoils the named rows alone; and -0 stays -0. What else reads
// the new table isn't fused with its update: 16-bit tables are rounded before, sums of them are
// added up in the order of unfused ones.
Graph update_rows(const Graph& graph);

}  // namespace cornu::cpu
