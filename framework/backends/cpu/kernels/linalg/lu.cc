// SPDX-License-Identifier: Apache-2.0
// lu, with partial pivoting: blocks of columns, each of which updates the columns to its right by a
// product of matrices.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "framework/backends/cpu/kernels/linalg/blocks.h"
#include "framework/backends/cpu/kernels/linalg/matrices.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kLuColumns = 32;  // of a block

class LuFactors {
 public:
  // Replaces a, n rows of n elements that are `step` apart, by its factors, and `rows`, which
  // counts from 0, by the rows' origins.
  LuFactors(double* a, int64_t n, int64_t step, int32_t* rows)
      : a_(a), n_(n), step_(step), rows_(rows) {
    for (int64_t first = 0; first < n; first += kLuColumns) {
      const int64_t end = std::min(first + kLuColumns, n);
      factor_columns(first, end);
      if (end < n) update_right(first, end);
    }
  }

 private:
  double* row(int64_t i) const { return a_ + i * step_; }

  // Factors columns [first, end) from row `first` on.
  void factor_columns(int64_t first, int64_t end) {
    for (int64_t j = first; j < end; ++j) {
      int64_t best = j;
      for (int64_t i = j + 1; i < n_; ++i) {
        if (std::abs(row(i)[j]) > std::abs(row(best)[j])) best = i;
      }
      if (best != j) {
        std::swap_ranges(row(j), row(j) + n_, row(best));
        std::swap(rows_[j], rows_[best]);
      }
      const double* pivot = row(j);
      if (pivot[j] == 0) continue;
      for (int64_t i = j + 1; i < n_; ++i) {
        const double factor = row(i)[j] /= pivot[j];
        subtract_row(row(i), factor, pivot, j + 1, end);
      }
    }
  }

  // Updates what is to the right of columns [first, end): computes rows of U, and subtracts their
  // products from the rows below.
  void update_right(int64_t first, int64_t end) {
    const StridedMatrix<double> left{row(first) + first, step_, 1};
    const MatrixRows right{row(first) + end, step_};
    solve_lower(left, end - first, true, right, n_ - end);
    subtract_product({row(end) + first, step_, 1}, {right.data, step_, 1},
                     {.rows = n_ - end, .depth = end - first, .columns = n_ - end},
                     {row(end) + end, step_});
  }

  double* a_;
  int64_t n_, step_;
  int32_t* rows_;
};

template <class T>
std::unique_ptr<Kernel> make_lu_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    if (batch.size() == 0) return;
    const int64_t n = batch.rows;
    const int64_t step = row_step(n);
    batch.each([&](int64_t i) {
      std::vector<double> values = read_rows(static_cast<const T*>(args.in[0]) + i * n * n, n, n);
      auto* const rows = static_cast<int32_t*>(args.out[1]) + i * n;
      std::iota(rows, rows + n, 0);
      LuFactors(values.data(), n, step, rows);
      write_rows({values.data(), step}, n, n, static_cast<T*>(args.out[0]) + i * n * n);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_lu(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_lu_of<T>(Batch(spec.inputs[0].shape)); }, make_lu);
}

}  // namespace cornu::cpu
