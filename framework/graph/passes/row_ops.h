// SPDX-License-Identifier: Apache-2.0
// Internal ops for some rows of tables, which update_rows.h inserts:
//
//   sum_rows(indices, updates) {shape, begin, size} -> rows (int64), sums: `size` rows of what
//       scatter_add along the first axis of that shape gives, from number `begin`, and of these
//       the ones that are added to: their numbers, counted from there, each once, and their sums.
//       For as many as there are indices: where there are fewer, other numbers are -1, with
//       anything as their sums. On CPUs those lie behind the last
//   all_reduce_rows(parts...) {operands, shapes, whole} -> for each table: the sum over all
//       replicas of float32 [rows, width] that `shapes` has, `whole`, or as numbers and values of
//       rows, for as many as the table has. This replica's part is 0, 1 or 2 `operands`: zeros, a
//       table, or rows as sum_rows gives them
//   gather_rows(x, rows) {axis: 0}: gather for numbers that are known to be some of x's, or -1
//   put_rows(x, rows, values): x with other rows; of numbers that aren't -1, none occurs twice
//   update_rows(numbers, values, operands...) {tables, body: Graph} -> the first `tables` operands,
//       with other rows: those with these numbers, of which none occurs twice. The body takes as
//       many numbers and values as its inputs have room for (-1 and anything behind the last), and
//       the operands, and puts the new rows into tables, which are the same memory: it reads no
//       row behind writing it
//
// They have no vjp: passes run after differentiation.
#pragma once

#include <string_view>

#include "framework/graph/op.h"

namespace cornu::passes {

// The definitions, registered on first use.
const OpDef& row_op(std::string_view name);

}  // namespace cornu::passes
