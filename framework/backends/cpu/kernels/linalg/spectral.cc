// SPDX-License-Identifier: Apache-2.0
// eigh: for matrices that aren't small, by the implicit symmetric QR algorithm (Golub and Van Loan,
// "Matrix Computations", 8.3), whose rotations are applied to the eigenvectors many at a time. Also
// the registration of svd.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "framework/backends/cpu/kernels/linalg/blocks.h"
#include "framework/backends/cpu/kernels/linalg/matrices.h"
#include "framework/backends/cpu/kernels/linalg/rotations.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kRotatedAtOnce = 64;  // rows: Eigen is as fast

// Diagonalizes a symmetric tridiagonal matrix, and reports the rotations of its columns.
class TridiagonalQr {
 public:
  TridiagonalQr(Eigen::VectorXd& diagonal, Eigen::VectorXd& below)
      : diagonal_(diagonal), below_(below), end_(diagonal.size() - 1) {}

  // Adds a sweep's rotations; returns false if the matrix is diagonal, or will never be (failed).
  bool sweep(std::vector<Rotation>& rotations) {
    const int64_t begin = find_block();
    if (begin == end_) return false;
    failed_ = ++sweeps_ > kMaxSweeps * diagonal_.size();
    if (failed_) return false;
    double x = diagonal_(begin) - shift();
    double z = below_(begin);
    for (int64_t k = begin; k < end_ && z != 0; ++k) {
      const auto [c, s, length] = annihilate(x, z);
      if (k > begin) below_(k - 1) = length;
      rotate_pair(k, c, s);
      rotations.push_back({k, c, s});
      x = below_(k);
      z = 0;
      if (k + 1 < end_) {  // the element outside of the three diagonals
        z = -s * below_(k + 1);
        below_(k + 1) *= c;
        failed_ = z == 0;  // it has become too small to reach the end
      }
    }
    return !failed_;
  }
  bool failed() const { return failed_; }

 private:
  struct Givens {
    double c, s, length;
  };

  // c x - s z = length, s x + c z = 0, avoiding squares of large or tiny numbers.
  static Givens annihilate(double x, double z) {
    if (std::abs(x) >= std::abs(z)) {
      const double ratio = z / x, root = std::sqrt(1 + ratio * ratio);
      return {1 / root, -ratio / root, x * root};
    }
    const double ratio = x / z, root = std::sqrt(1 + ratio * ratio);
    return {ratio / root, -1 / root, z * root};
  }

  static constexpr int64_t kMaxSweeps = 30;  // per row

  // The first row of the last block that isn't diagonal, whose last row is end_; end_ if there is
  // none.
  int64_t find_block() {
    constexpr double kPrecision = std::numeric_limits<double>::epsilon();
    constexpr double kTiny = std::numeric_limits<double>::min();  // for elements of at most 1
    const auto is_small = [&](int64_t i) {
      const double beside = std::abs(diagonal_(i)) + std::abs(diagonal_(i + 1));
      return std::abs(below_(i)) <= std::max(kPrecision * beside, kTiny);
    };
    while (end_ > 0 && is_small(end_ - 1)) below_(--end_) = 0;
    int64_t begin = end_;
    while (begin > 0 && !is_small(begin - 1)) --begin;
    if (begin > 0) below_(begin - 1) = 0;
    return begin;
  }

  // Wilkinson's shift: the eigenvalue of the last two rows that is closer to the last element.
  double shift() const {
    const double half = (diagonal_(end_ - 1) - diagonal_(end_)) / 2;
    const double off = below_(end_ - 1);
    const double length = std::copysign(std::hypot(half, off), half);
    return diagonal_(end_) - off * (off / (half + length));
  }

  // Rotates rows and columns k and k + 1, whose common element is below_(k).
  void rotate_pair(int64_t k, double c, double s) {
    const double first = diagonal_(k), second = diagonal_(k + 1), off = below_(k);
    diagonal_(k) = c * (c * first - s * off) - s * (c * off - s * second);
    diagonal_(k + 1) = s * (s * first + c * off) + c * (s * off + c * second);
    below_(k) = c * (s * first + c * off) - s * (s * off + c * second);
  }

  Eigen::VectorXd& diagonal_;
  Eigen::VectorXd& below_;
  int64_t end_;
  int64_t sweeps_ = 0;
  bool failed_ = false;
};

// The number of rows for columns of n elements, with padding.
int64_t filled_rows(int64_t n) { return (n + kRotatedRows - 1) / kRotatedRows * kRotatedRows; }

// Returns the eigenvalues, unordered; the eigenvector of number i is in column i of `columns`:
// x.rows() elements, `step` from one column to the next.
Eigen::VectorXd eigenvalues_of(Doubles x, std::vector<double>& columns, int64_t step) {
  const int64_t n = x.rows();
  Eigen::Map<Doubles, 0, Eigen::OuterStride<>> vectors(columns.data(), n, n,
                                                       Eigen::OuterStride<>(step));
  const auto by_eigen = [&] {
    const Eigen::SelfAdjointEigenSolver<Doubles> solver(x);
    vectors = solver.eigenvectors();
    return Eigen::VectorXd(solver.eigenvalues());
  };
  if (n <= kRotatedAtOnce) return by_eigen();
  const double largest = x.cwiseAbs().maxCoeff();
  const double scale = largest > 0 ? largest : 1;
  x /= scale;
  const Eigen::Tridiagonalization<Doubles> tridiagonal(x);
  Eigen::VectorXd diagonal = tridiagonal.diagonal();
  Eigen::VectorXd below = tridiagonal.subDiagonal();
  vectors = tridiagonal.matrixQ();
  TridiagonalQr algorithm(diagonal, below);
  std::vector<Rotation> rotations;
  const auto many = static_cast<size_t>(32 * n);
  while (algorithm.sweep(rotations)) {
    if (rotations.size() < many) continue;
    rotate(rotations, columns.data(), filled_rows(n), step);
    rotations.clear();
  }
  if (algorithm.failed()) return by_eigen() * scale;  // of elements of very different sizes
  rotate(rotations, columns.data(), filled_rows(n), step);
  return diagonal * scale;
}

template <class T>
std::unique_ptr<Kernel> make_eigh_of(const Batch& batch) {
  return make_kernel([batch](const KernelArgs& args) {
    if (batch.size() == 0) return;
    const int64_t n = batch.rows;
    const int64_t step = row_step(filled_rows(n));
    batch.each([&](int64_t i) {
      T* const values = static_cast<T*>(args.out[0]) + i * n;
      T* const vectors = static_cast<T*>(args.out[1]) + i * batch.size();
      Doubles x = read_matrix<T>(args.in[0], i, batch);
      x.triangularView<Eigen::StrictlyUpper>() = x.transpose();
      if (!x.allFinite()) {
        std::fill_n(values, n, std::numeric_limits<T>::quiet_NaN());
        std::fill_n(vectors, batch.size(), std::numeric_limits<T>::quiet_NaN());
        return;
      }
      std::vector<double> columns(static_cast<size_t>(step * n));
      const Eigen::VectorXd found = eigenvalues_of(std::move(x), columns, step);
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), int64_t{0});
      std::ranges::stable_sort(order, {}, [&](int64_t k) { return found(k); });
      for (int64_t k = 0; k < n; ++k) values[k] = static_cast<T>(found(order[k]));
      each_element(batch, [&](int64_t row, int64_t column) {
        vectors[row * n + column] = static_cast<T>(columns[order[column] * step + row]);
      });
    });
  });
}

std::unique_ptr<Kernel> make_eigh(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_eigh_of<T>(Batch(spec.inputs[0].shape)); }, make_eigh);
}

}  // namespace

void register_spectral_kernels(KernelTable& table) {
  table.add("eigh", make_eigh);
  table.add("svd", make_svd);
}

}  // namespace cornu::cpu
