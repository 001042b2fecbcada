// SPDX-License-Identifier: Apache-2.0
// cholesky and triangular_solve, and the registration of lu and qr.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include "framework/backends/cpu/kernels/linalg/blocks.h"
#include "framework/backends/cpu/kernels/linalg/matrices.h"

namespace cornu::cpu {
namespace {

// The lowest index of a matrix that failed, from any thread.
class FirstFailure {
 public:
  void note(int64_t index) {
    int64_t known = first_.load();
    while (index < known && !first_.compare_exchange_weak(known, index)) {
    }
  }
  bool any() const { return first_.load() != kNone; }
  int64_t index() const { return first_.load(); }

 private:
  static constexpr int64_t kNone = INT64_MAX;
  std::atomic<int64_t> first_{kNone};
};

// Replaces a's upper triangle, n x n, by u with a = u^T u; returns false when a isn't positive
// definite.
bool factor_small(const MatrixRows& a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    double* const row = a.row(j);
    if (row[j] <= 0) return false;
    row[j] = std::sqrt(row[j]);
    for (int64_t c = j + 1; c < n; ++c) row[c] /= row[j];
    for (int64_t i = j + 1; i < n; ++i) subtract_row(a.row(i), row[i], row, i, n);
  }
  return true;
}

// Like factor_small, by halves: the first half's factor, its part above the second half, and what
// remains of the latter.
bool factor_upper(const MatrixRows& a, int64_t n) {
  constexpr int64_t kSmall = 32;
  constexpr int64_t kRows = 96;  // of a product, whose elements left of the diagonal aren't needed
  if (n <= kSmall) return factor_small(a, n);
  const int64_t half = (n / 2 + kSmall - 1) / kSmall * kSmall;
  if (!factor_upper(a, half)) return false;
  solve_lower({a.data, 1, a.step}, half, false, {a.data + half, a.step}, n - half);
  for (int64_t begin = half; begin < n; begin += kRows) {
    const double* const above = a.data + begin;
    subtract_product({above, 1, a.step}, {above, a.step, 1},
                     {.rows = std::min(kRows, n - begin), .depth = half, .columns = n - begin},
                     {a.row(begin) + begin, a.step});
  }
  return factor_upper({a.row(half) + half, a.step}, n - half);
}

template <class T>
std::unique_ptr<Kernel> make_cholesky_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    FirstFailure failure;
    const int64_t n = batch.rows;
    const int64_t step = row_step(n);
    batch.each([&](int64_t i) {
      const T* const in = static_cast<const T*>(args.in[0]) + i * batch.size();
      T* const out = static_cast<T*>(args.out[0]) + i * batch.size();
      std::vector<double> upper(static_cast<size_t>(n * step));
      each_element(batch, [&](int64_t row, int64_t column) {
        if (row >= column) upper[column * step + row] = in[row * n + column];
      });
      if (!factor_upper({upper.data(), step}, n)) failure.note(i);
      each_element(batch, [&](int64_t row, int64_t column) {
        out[row * n + column] = static_cast<T>(row < column ? 0 : upper[column * step + row]);
      });
    });
    check<InvalidArgument>(!failure.any(),
                           "cholesky: expected symmetric positive definite matrices, but number {} "
                           "isn't one.",
                           failure.index());
  });
}

struct Triangle {
  explicit Triangle(const Attributes& attributes)
      : lower(attributes.get_bool("lower")),
        transposed(attributes.get_bool("transpose")),
        unit(attributes.get_bool("unit")) {}
  bool lower;
  bool transposed;
  bool unit;
};

// Several sums at once, since each addition waits for the one before it.
template <class T>
double dot(const T* a, const double* b, int64_t count) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  }
  for (; i < count; ++i) sums[i % kSums] += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

constexpr int64_t kFewRightSides = 16;  // with more, multiplying blocks of matrices is faster

// Replaces a few right-hand sides, x (n x count), by the solution; the triangle is read by rows,
// where it is. Returns false if there is no solution.
template <class T>
bool solve_few(const T* a, int64_t n, double* x, int64_t count, const Triangle& triangle) {
  // In a transposed triangle, row i holds the factors of x[i] in the other equations.
  const bool forward = triangle.lower != triangle.transposed;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    const T* row = a + i * n;
    double* const solved = x + i * count;
    const int64_t begin = triangle.lower ? 0 : i + 1;
    const int64_t end = triangle.lower ? i : n;
    double sums[kFewRightSides] = {};
    const bool is_dot = !triangle.transposed && count == 1;
    if (is_dot) sums[0] = dot(row + begin, x + begin, end - begin);
    for (int64_t j = begin; !triangle.transposed && !is_dot && j < end; ++j) {
      for (int64_t c = 0; c < count; ++c) sums[c] += row[j] * x[j * count + c];
    }
    const double pivot = triangle.unit ? 1.0 : static_cast<double>(row[i]);
    if (pivot == 0) return false;
    for (int64_t c = 0; c < count; ++c) solved[c] = sums[c] = (solved[c] - sums[c]) / pivot;
    for (int64_t j = begin; triangle.transposed && j < end; ++j) {
      for (int64_t c = 0; c < count; ++c) x[j * count + c] -= row[j] * sums[c];
    }
  }
  return true;
}

// Like solve_few, for any number of right-hand sides. With its rows and columns reversed, an upper
// triangle is a lower one.
template <class T>
bool solve_many(const T* a, int64_t n, double* x, int64_t count, const Triangle& triangle) {
  for (int64_t row = 0; !triangle.unit && row < n; ++row) {
    if (a[row * n + row] == 0) return false;
  }
  const int64_t step = row_step(n);
  const std::vector<double> values = read_rows(a, n, n);
  StridedMatrix<double> l{values.data(), step, 1};
  MatrixRows right{x, count};
  if (triangle.transposed) std::swap(l.row, l.column);
  if (triangle.lower == triangle.transposed) {
    l = {l.data + (n - 1) * (l.row + l.column), -l.row, -l.column};
    right = {right.row(n - 1), -count};
  }
  solve_lower(l, n, triangle.unit, right, count);
  return true;
}

template <class T>
std::unique_ptr<Kernel> make_triangular_solve_of(const KernelSpec& spec) {
  const Batch a_batch(spec.inputs[0].shape);
  const Batch b_batch(spec.inputs[1].shape);
  const Triangle triangle(spec.attributes);
  const bool named = spec.attributes.find("who") != nullptr;
  const std::string who = named ? spec.attributes.get_string("who") : "solve";
  return make_kernel([=](const KernelArgs& args) {
    if (b_batch.size() == 0) return;
    FirstFailure failure;
    a_batch.each([&](int64_t i) {
      const T* const a = static_cast<const T*>(args.in[0]) + i * a_batch.size();
      const T* const right = static_cast<const T*>(args.in[1]) + i * b_batch.size();
      std::vector<double> x(right, right + b_batch.size());
      const auto solve = b_batch.columns <= kFewRightSides ? solve_few<T> : solve_many<T>;
      if (!solve(a, a_batch.rows, x.data(), b_batch.columns, triangle)) failure.note(i);
      T* const out = static_cast<T*>(args.out[0]) + i * b_batch.size();
      std::transform(x.begin(), x.end(), out, [](double value) { return static_cast<T>(value); });
    });
    check<InvalidArgument>(!failure.any(),
                           "{}: expected matrices that have an inverse, but number {} has none "
                           "(its triangular factor has a 0 on the diagonal).",
                           who, failure.index());
  });
}

std::unique_ptr<Kernel> make_cholesky(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_cholesky_of<T>(Batch(spec.inputs[0].shape)); },
      make_cholesky);
}
std::unique_ptr<Kernel> make_triangular_solve(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_triangular_solve_of<T>(spec); }, make_triangular_solve);
}

}  // namespace

void register_factorization_kernels(KernelTable& table) {
  table.add("lu", make_lu);
  table.add("cholesky", make_cholesky);
  table.add("qr", make_qr);
  table.add("triangular_solve", make_triangular_solve);
}

}  // namespace cornu::cpu
