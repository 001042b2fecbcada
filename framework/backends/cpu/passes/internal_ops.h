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
//       first occur, and their sums. For as many as there are indices: where there are fewer, -1 is
//       behind the last number
//   all_reduce_rows(parts...) {operands, shapes, whole} -> for each table: the sum over all
//       replicas of float32 [rows, width] that `shapes` has, `whole`, or as numbers and values of
//       rows, for as many as the table has. This replica's part is 0, 1 or 2 `operands`: zeros, a
//       table, or rows as sum_rows gives them
//   gather_rows(x, rows) {axis: 0}: gather for numbers that are known to be some of x's, or -1
//   put_rows(x, rows, values): x with other rows; of numbers before the first -1, none occurs twice
//   update_rows(numbers, values, operands...) {tables, body: Graph} -> the first `tables` operands,
//       with other rows: those with these numbers, of which none occurs twice. The body takes as
//       many numbers and values as its inputs have room for (-1 and anything behind the last), and
//       the operands, and puts the new rows into tables, which are the same memory: it reads no
//       row behind writing it
//
// `activation` is "" or "relu", applied last. `index` is the position of a window's first maximum
// within the window, row-major. They have no vjp: passes run after differentiation.
#pragma once

#include "framework/graph/op.h"

namespace cornu::cpu {

// The definitions, registered on first use.
const OpDef& internal_op(std::string_view name);

}  // namespace cornu::cpu
