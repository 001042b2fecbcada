// SPDX-License-Identifier: Apache-2.0
// cholesky and triangular_solve, and the registration of lu and qr.
#include "framework/backends/cpu/kernels/linalg/matrices.h"

#include <Eigen/Cholesky>
#include <atomic>
#include <vector>

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

// Replaces x by its lower factor; false when x isn't positive definite.
bool factor_cholesky(Doubles& x) {
  const Eigen::LLT<Doubles, Eigen::Lower> llt(x);
  x = llt.matrixL();
  return llt.info() == Eigen::Success;
}

template <class T>
std::unique_ptr<Kernel> make_cholesky_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    FirstFailure failure;
    batch.each([&](int64_t i) {
      Doubles x = read_matrix<T>(args.in[0], i, batch);
      if (!factor_cholesky(x)) failure.note(i);
      write_matrix<T>(x, args.out[0], i, batch);
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

// Replaces b by the solution; false if there is none. Reversing its rows and columns makes an upper
// triangle a lower one.
bool solve_triangle(Doubles& a, Doubles& b, const Triangle& triangle) {
  if (triangle.unit) a.diagonal().setOnes();
  if ((a.diagonal().array() == 0.0).any()) return false;
  if (triangle.transposed) a.transposeInPlace();
  const bool reversed = triangle.lower == triangle.transposed;
  if (reversed) {
    a = a.reverse().eval();
    b = b.colwise().reverse().eval();
  }
  a.triangularView<Eigen::Lower>().solveInPlace(b);
  if (reversed) b = b.colwise().reverse().eval();
  return true;
}

// Several sums at once, since each waits for the one before it.
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

constexpr int64_t kFewRightSides = 16;  // with more, blocks of matrices are multiplied sooner

// The same for a few right sides, x (n x count), of a triangle that is read where it is, by rows.
template <class T>
bool solve_few(const T* a, int64_t n, double* x, int64_t count, const Triangle& triangle) {
  // Of a transposed triangle, row i has the factors of x[i] in the equations of others.
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
      if (b_batch.columns <= kFewRightSides) {
        const T* const right = static_cast<const T*>(args.in[1]) + i * b_batch.size();
        std::vector<double> x(right, right + b_batch.size());
        const T* const a = static_cast<const T*>(args.in[0]) + i * a_batch.size();
        if (!solve_few(a, a_batch.rows, x.data(), b_batch.columns, triangle)) failure.note(i);
        T* const out = static_cast<T*>(args.out[0]) + i * b_batch.size();
        std::transform(x.begin(), x.end(), out, [](double value) { return static_cast<T>(value); });
        return;
      }
      Doubles a = read_matrix<T>(args.in[0], i, a_batch);
      Doubles b = read_matrix<T>(args.in[1], i, b_batch);
      if (!solve_triangle(a, b, triangle)) failure.note(i);
      write_matrix<T>(b, args.out[0], i, b_batch);
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
