// SPDX-License-Identifier: Apache-2.0
// Shared by the lowerings of factorizations: batches of matrices, (count, rows, columns), in the
// floating-point type used for computing.
#pragma once

#include "framework/backends/xla/lowering.h"

namespace cornu::xla {

// x as a single batch, with 16-bit floats converted to float32; and a result converted back to an
// op's own type.
Value batch_of(Writer& to, const Value& x);
Value out_of_batch(Writer& to, const Value& x, const TensorType& type);

// The row numbers (axis 1) or column numbers (axis 2) of all elements; int64.
Value row_numbers(Writer& to, const Value& x);
Value column_numbers(Writer& to, const Value& x);

// Broadcasts a vector for each matrix, (count, size), with one number per row or per column.
Value per_row(Writer& to, const Value& vector, const Shape& shape);
Value per_column(Writer& to, const Value& vector, const Shape& shape);
// Sums of a matrix's rows, (count, rows), and of its columns.
Value sum_rows(Writer& to, const Value& x);
Value sum_columns(Writer& to, const Value& x);
// The row or column number `index` (an int64 scalar).
Value row_at(Writer& to, const Value& x, const Value& index);
Value column_at(Writer& to, const Value& x, const Value& index);
Value diagonal(Writer& to, const Value& x);
// Identity matrices of any type and count, possibly with more rows than columns or vice versa.
Value eye_of(Writer& to, const TensorType& type);

// A loop of `turns` iterations over matrices: `body` gets the iteration number and computes their
// next values.
Values repeat(Writer& to, int64_t turns, const Values& initial,
              FunctionRef<Values(const Value& turn, std::span<const Value> values)> body);

// By Householder reflections: Q of all rows, R with the shape of x.
std::pair<Value, Value> householder(Writer& to, const Value& x);

void register_spectral(LoweringTable& table);  // eigh, svd

}  // namespace cornu::xla
