// SPDX-License-Identifier: Apache-2.0
// Internal ops, which only the CPU's passes insert: fused forms of several ops, besides those of
// graph/passes/fuse_bias.h and row_ops.h.
//
//   max_pool_with_index(x) {window, strides, padding, activation} -> y, index (uint8)
//   max_pool_scatter(dy, index) {window, strides, padding, input_shape}
//   conv_pool(x, filter, bias) {conv's attributes, activation, window, pool_strides, pool_padding}
//       -> y, index (uint8)
//   conv_pool_filter_grad(x, dy, index) {as conv_pool, filter_shape} -> filter's gradient, bias's
//   random_mask(seed, [offset]) {shape, least}: random_uniform(...) of float32 >= least
//   row_blocks(x...) {body: Graph, block_bytes}: the body's outputs, computed for blocks of rows
//
// `activation` is "" or "relu", applied last. `index` is the position of a window's first maximum
// within the window, row-major. They have no vjp: passes run after differentiation.
#pragma once

#include "framework/graph/op.h"

namespace cornu::cpu {

// The definitions, registered on first use.
const OpDef& internal_op(std::string_view name);

}  // namespace cornu::cpu
