// SPDX-License-Identifier: Apache-2.0
// Graph passes of the CPU backend, which run beside those that all backends share.
#pragma once

#include "framework/graph/graph.h"

namespace cornu::cpu {

// Convolutions whose work is another op's: those of one position are matrix products, as are their
// gradients (a blocked convolution would rearrange the filter at each step); a convolution of what
// was padded with zeros pads by itself, and a part of an input's gradient is computed alone.
Graph simplify_convs(const Graph& graph);

// Rewrites what the CPU has better kernels for (internal_ops.h): bias and activation into matmul
// and conv, relu and max-pooling into one, a single-channel conv with its pooling into one, and
// their gradients.
Graph fuse_kernels(const Graph& graph);

}  // namespace cornu::cpu
