// SPDX-License-Identifier: Apache-2.0
// Internal ops on some of the rows of tables, inserted by update_rows.h:
//
//   sum_rows(indices, updates) {shape, begin, size} -> rows (int64), sums: of the result of a
//       scatter_add of this shape along the first axis, takes `size` rows starting at row `begin`,
//       and returns those of them that something is added to: their numbers, counted from `begin`,
//       each once, and their sums. There are as many entries as indices: unused ones have the
//       number -1 and arbitrary sums. On CPUs they come last
//   all_reduce_rows(parts...) {operands, shapes, whole} -> for each table: the sum over all
//       replicas, in float32 with the [rows, width] given in `shapes`; either `whole`, or as
//       numbers and values of rows, with as many entries as the table has rows. This replica
//       contributes 0, 1 or 2 `operands`: zeros, a table, or rows as returned by sum_rows
//   gather_rows(x, rows) {axis: 0}: gather for row numbers that are known to be valid, or -1
//   put_rows(x, rows, values): x with some rows replaced; numbers other than -1 must be unique
//   update_rows(numbers, values, operands...) {tables, body: Graph} -> the first `tables` operands
//       with the rows of these numbers replaced; numbers must be unique. The body takes a block of
//       numbers and values of the size of its inputs (-1 and arbitrary values after the last), and
//       the operands. It puts the new rows into tables that share the memory of the operands: it
//       reads no row after writing it
//
// These ops have no vjp, since passes run after differentiation.
#pragma once

#include <string_view>

#include "framework/graph/op.h"

namespace cornu::passes {

// The definitions, registered on first use.
const OpDef& row_op(std::string_view name);

}  // namespace cornu::passes
