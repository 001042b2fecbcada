// SPDX-License-Identifier: Apache-2.0
// Building blocks of blocked decompositions: products of parts of a matrix, and triangular solves
// for many right-hand sides. Columns or rows are divided among threads; the bits don't depend on
// how many there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "framework/backends/cpu/kernels/matmul/packed.h"

namespace cornu::cpu {

// Rows of contiguous elements, `step` elements from one to the next (upwards, if it is negative).
struct MatrixRows {
  double* row(int64_t i) const { return data + i * step; }
  MatrixRows from(int64_t first) const { return {row(first), step}; }

  double* data;
  int64_t step;
};

// The distance between rows of n elements: a cache line more, so that elements of a column don't
// evict each other.
constexpr int64_t row_step(int64_t n) { return n < 64 ? n : n + 8; }

// A matrix as rows that are row_step(columns) apart.
template <class T>
std::vector<double> read_rows(const T* from, int64_t rows, int64_t columns) {
  const int64_t step = row_step(columns);
  std::vector<double> values(static_cast<size_t>(rows * step));
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(from + row * columns, columns, values.data() + row * step);
  }
  return values;
}

template <class T>
void write_rows(const MatrixRows& matrix, int64_t rows, int64_t columns, T* to) {
  for (int64_t row = 0; row < rows; ++row) {
    to = std::transform(matrix.row(row), matrix.row(row) + columns, to,
                        [](double value) { return static_cast<T>(value); });
  }
}

struct ProductSizes {
  int64_t rows, depth, columns;
};

// out (rows x columns) -= left (rows x depth) * right (depth x columns).
void subtract_product(const StridedMatrix<double>& left, const StridedMatrix<double>& right,
                      const ProductSizes& sizes, const MatrixRows& out);

// Subtracts `factor` times row `from` from row `to`, in columns [begin, end).
void subtract_row(double* to, double factor, const double* from, int64_t begin, int64_t end);

// Replaces x (n x columns) by the solution of l * solution = x, reading only l's triangle below the
// diagonal, and the diagonal unless it is `unit`.
void solve_lower(const StridedMatrix<double>& l, int64_t n, bool unit, const MatrixRows& x,
                 int64_t columns);

}  // namespace cornu::cpu
