// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/linalg/blocks.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kProductRows = 96;     // of a product, which stay in a second-level cache
constexpr int64_t kSmallTriangle = 16;   // solved row by row
constexpr int64_t kSolvedColumns = 128;  // at a time, whose rows stay in a first-level cache

// solve_lower of a small triangle, for columns [begin, end) of x.
void substitute(const StridedMatrix<double>& l, int64_t n, bool unit, const MatrixRows& x,
                int64_t begin, int64_t end) {
  for (int64_t i = 0; i < n; ++i) {
    const double* const row = l.data + i * l.row;
    double* const solved = x.row(i);
    for (int64_t j = 0; j < i; ++j) subtract_row(solved, row[j * l.column], x.row(j), begin, end);
    if (unit) continue;
    const double pivot = row[i * l.column];
    for (int64_t c = begin; c < end; ++c) solved[c] /= pivot;
  }
}

}  // namespace

void subtract_row(double* __restrict to, double factor, const double* __restrict from,
                  int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) to[j] -= factor * from[j];
}

void subtract_product(const StridedMatrix<double>& left, const StridedMatrix<double>& right,
                      const ProductSizes& sizes, const MatrixRows& out) {
  const auto [rows, depth, columns] = sizes;
  const PackedProduct<double>& loops = packed_product<double>();
  const int64_t count = (columns + loops.columns - 1) / loops.columns;
  std::vector<double> panels(static_cast<size_t>(count * loops.columns * depth));
  for (int64_t panel = 0; panel < count; ++panel) {
    loops.pack_panel(right, depth, columns, panel, panels.data() + panel * loops.columns * depth);
  }
  for (double& value : panels) value = -value;
  const int64_t kept = std::min(depth, kPackedDepth) * (kProductRows + loops.rows);
  const int64_t grain = std::max<int64_t>(1, 100'000 / (depth * columns));
  parallel_for(rows, (grain + loops.rows - 1) / loops.rows * loops.rows,
               [&, columns = columns, depth = depth](int64_t begin, int64_t end) {
                 auto* const memory = reinterpret_cast<double*>(
                     thread_memory(static_cast<size_t>(kept) * sizeof(double)));
                 for (int64_t i = begin; i < end; i += kProductRows) {
                   loops.multiply({.a = left,
                                   .panels = panels.data(),
                                   .begin = i,
                                   .end = std::min(end, i + kProductRows),
                                   .n = columns,
                                   .k = depth,
                                   .memory = memory,
                                   .out = out.data,
                                   .step = out.step,
                                   .adds = true});
                 }
               });
}

void solve_lower(const StridedMatrix<double>& l, int64_t n, bool unit, const MatrixRows& x,
                 int64_t columns) {
  if (n <= kSmallTriangle) {
    const int64_t parts = (columns + kSolvedColumns - 1) / kSolvedColumns;
    parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      substitute(l, n, unit, x, begin * kSolvedColumns, std::min(columns, end * kSolvedColumns));
    });
    return;
  }
  const int64_t half = (n / 2 + kSmallTriangle - 1) / kSmallTriangle * kSmallTriangle;
  solve_lower(l, half, unit, x, columns);
  const MatrixRows rest = x.from(half);
  subtract_product({l.data + half * l.row, l.row, l.column}, {x.data, x.step, 1},
                   {.rows = n - half, .depth = half, .columns = columns}, rest);
  solve_lower({l.data + half * (l.row + l.column), l.row, l.column}, n - half, unit, rest, columns);
}

}  // namespace cornu::cpu
