// SPDX-License-Identifier: Apache-2.0
// lu, with partial pivoting: blocks of columns, whose effect on what is right of them is a product
// of matrices.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/linalg/matrices.h"
#include "framework/backends/cpu/kernels/matmul/packed.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kLuColumns = 32;    // of a block
constexpr int64_t kLuBlockRows = 96;  // of a product, which stay in a second-level cache

class LuFactors {
 public:
  // Replaces a, n rows of n that are `step` apart, by its factors, and rows, which count from 0, by
  // where they came from.
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

  // Columns [first, end) from row `first` on.
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
        subtract(row(i), factor, pivot, j + 1, end);
      }
    }
  }

  // Columns [begin, end) of a row less `factor` times those of another.
  static void subtract(double* __restrict to, double factor, const double* __restrict from,
                       int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) to[j] -= factor * from[j];
  }

  // What is right of columns [first, end): rows of U, and what they leave of the rows below.
  void update_right(int64_t first, int64_t end) {
    for (int64_t i = first + 1; i < end; ++i) {
      for (int64_t l = first; l < i; ++l) subtract(row(i), row(i)[l], row(l), end, n_);
    }
    const PackedProduct<double>& loops = packed_product<double>();
    const int64_t depth = end - first, width = n_ - end;
    const int64_t panels = (width + loops.columns - 1) / loops.columns;
    panels_.resize(static_cast<size_t>(panels * loops.columns * depth));
    const StridedMatrix<double> right{row(first) + end, step_, 1};
    for (int64_t panel = 0; panel < panels; ++panel) {
      loops.pack_panel(right, depth, width, panel, panels_.data() + panel * loops.columns * depth);
    }
    for (double& value : panels_) value = -value;
    const int64_t grain = std::max<int64_t>(loops.rows, 100'000 / (depth * width));
    parallel_for(n_ - end, (grain + loops.rows - 1) / loops.rows * loops.rows,
                 [&](int64_t begin, int64_t last) {
                   const StridedMatrix<double> left{row(end) + first, step_, 1};
                   const int64_t most = kLuBlockRows + loops.rows;
                   auto* memory = reinterpret_cast<double*>(
                       thread_memory(static_cast<size_t>(most * depth) * sizeof(double)));
                   for (int64_t i = begin; i < last; i += kLuBlockRows) {
                     loops.multiply({.a = left,
                                     .panels = panels_.data(),
                                     .begin = i,
                                     .end = std::min(last, i + kLuBlockRows),
                                     .n = width,
                                     .k = depth,
                                     .memory = memory,
                                     .out = row(end) + end,
                                     .step = step_,
                                     .adds = true});
                   }
                 });
  }

  double* a_;
  int64_t n_, step_;
  int32_t* rows_;
  std::vector<double> panels_;
};

template <class T>
std::unique_ptr<Kernel> make_lu_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    if (batch.size() == 0) return;
    const int64_t n = batch.rows;
    // A cache line more, lest the elements of a column evict each other.
    const int64_t step = n < 64 ? n : n + 8;
    batch.each([&](int64_t i) {
      std::vector<double> values(static_cast<size_t>(n * step));
      const T* const in = static_cast<const T*>(args.in[0]) + i * n * n;
      for (int64_t row = 0; row < n; ++row) {
        std::copy_n(in + row * n, n, values.data() + row * step);
      }
      auto* const rows = static_cast<int32_t*>(args.out[1]) + i * n;
      std::iota(rows, rows + n, 0);
      LuFactors(values.data(), n, step, rows);
      T* const out = static_cast<T*>(args.out[0]) + i * n * n;
      for (int64_t row = 0; row < n; ++row) {
        std::transform(values.data() + row * step, values.data() + row * step + n, out + row * n,
                       [](double value) { return static_cast<T>(value); });
      }
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_lu(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_lu_of<T>(Batch(spec.inputs[0].shape)); }, make_lu);
}

}  // namespace cornu::cpu
