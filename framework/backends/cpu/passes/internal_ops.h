// SPDX-License-Identifier: Apache-2.0
// Internal ops, which only the CPU's passes insert: fused forms of several ops, besides those of
// graph/passes/fuse_bias.h.
//
//   max_pool_with_index(x) {window, strides, padding, activation} -> y, index (uint8)
//   max_pool_scatter(dy, index) {window, strides, padding, input_shape}
//   conv_pool(x, filter, bias) {conv's attributes, activation, window, pool_strides, pool_padding}
//       -> y, index (uint8)
//   conv_pool_filter_grad(x, dy, index) {as conv_pool, filter_shape} -> filter's gradient, bias's
//   sum_rows(indices, updates) {shape, begin, size} -> rows (int64), sums: `size` rows of what
//       scatter_add along the first axis of that shape gives, from number `begin`, and of these
//       the ones that are added to: their numbers, counted from there, in the order in which they
//       first occur, then -1; and their sums, then zeros. As many as there are indices
//   gather_rows(x, rows) {axis: 0}: gather for numbers that are known to be some of x's, or -1
//   put_rows(x, rows, values): x with other rows; of numbers that aren't -1, none occurs twice
//
// `activation` is "" or "relu", applied last. `index` is the position of a window's first maximum
// within the window, row-major. They have no vjp: passes run after differentiation.
#pragma once

#include "framework/graph/op.h"

namespace cornu::cpu {

// The definitions, registered on first use.
const OpDef& internal_op(std::string_view name);

}  // namespace cornu::cpu
