// SPDX-License-Identifier: Apache-2.0
// qr, by Householder reflections, applied a block of columns at a time: Schreiber and Van Loan, "A
// storage-efficient WY representation for products of Householder transformations" (1989).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "framework/backends/cpu/kernels/linalg/blocks.h"
#include "framework/backends/cpu/kernels/linalg/matrices.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kReflections = 32;  // of a block

// The product I - v t v^T of reflections that turn `count` columns of a matrix into a triangle.
class Block {
 public:
  // Computes the reflections of the first columns of a, which become their triangle.
  Block(const MatrixRows& a, int64_t rows, int64_t count)
      : rows_(rows),
        count_(count),
        vectors_(static_cast<size_t>(rows * count)),
        t_(static_cast<size_t>(count * count)) {
    for (int64_t j = 0; j < count; ++j) reflect_column(a, j);
    multiply_factors();
  }

  // Replaces x (rows x columns) by the product, or its transpose, times x.
  void apply(const MatrixRows& x, int64_t columns, bool transposed) const {
    if (columns == 0) return;
    const StridedMatrix<double> v{vectors_.data(), count_, 1};
    const StridedMatrix<double> t{t_.data(), transposed ? 1 : count_, transposed ? count_ : 1};
    std::vector<double> memory(static_cast<size_t>(2 * count_ * columns));
    const MatrixRows less_v_x{memory.data(), columns}, t_v_x{less_v_x.row(count_), columns};
    subtract_product({v.data, 1, count_}, {x.data, x.step, 1},
                     {.rows = count_, .depth = rows_, .columns = columns}, less_v_x);
    subtract_product(t, {less_v_x.data, columns, 1},
                     {.rows = count_, .depth = count_, .columns = columns}, t_v_x);
    subtract_product(v, {t_v_x.data, columns, 1},
                     {.rows = rows_, .depth = count_, .columns = columns}, x);
  }

 private:
  double& vector(int64_t i, int64_t j) { return vectors_[static_cast<size_t>(i * count_ + j)]; }
  double& t(int64_t i, int64_t j) { return t_[static_cast<size_t>(i * count_ + j)]; }

  // Computes the reflection that zeroes column j below the diagonal, and applies it to the later
  // columns.
  void reflect_column(const MatrixRows& a, int64_t j) {
    vector(j, j) = 1;
    double below = 0;
    for (int64_t i = j + 1; i < rows_; ++i) below += a.row(i)[j] * a.row(i)[j];
    if (below <=
        std::numeric_limits<double>::min()) {  // for tiny numbers, whose squares are inexact
      for (int64_t i = j + 1; i < rows_; ++i) a.row(i)[j] = 0;
      return;
    }
    const double first = a.row(j)[j];
    const double last = -std::copysign(std::sqrt(first * first + below), first);
    const double factor = t(j, j) = (last - first) / last;
    double sums[kReflections] = {};
    for (int64_t i = j; i < rows_; ++i) {
      if (i > j) vector(i, j) = a.row(i)[j] / (first - last);
      subtract_row(sums, -factor * vector(i, j), a.row(i), j + 1, count_);
    }
    for (int64_t i = j; i < rows_; ++i) {
      subtract_row(a.row(i), vector(i, j), sums, j + 1, count_);
      a.row(i)[j] = i == j ? last : 0;
    }
  }

  // Computes the rest of t, whose diagonal holds the reflections' own factors.
  void multiply_factors() {
    std::vector<double> less_products(static_cast<size_t>(count_ * count_));
    subtract_product({vectors_.data(), 1, count_}, {vectors_.data(), count_, 1},
                     {.rows = count_, .depth = rows_, .columns = count_},
                     {less_products.data(), count_});
    for (int64_t j = 1; j < count_; ++j) {
      for (int64_t i = 0; i < j; ++i) {
        double sum = 0;
        for (int64_t l = i; l < j; ++l) sum += t(i, l) * less_products[l * count_ + j];
        t(i, j) = t(j, j) * sum;
      }
    }
  }

  int64_t rows_, count_;
  std::vector<double> vectors_;  // rows x count
  std::vector<double> t_;        // count x count, an upper triangle
};

// Replaces x (rows x columns) by its triangle, and q (rows x q_columns) by the orthonormal columns.
void decompose(const MatrixRows& x, int64_t rows, int64_t columns, const MatrixRows& q,
               int64_t q_columns) {
  std::vector<Block> blocks;
  const int64_t count = std::min(rows, columns);
  for (int64_t first = 0; first < count; first += kReflections) {
    const int64_t end = std::min(first + kReflections, count);
    const MatrixRows rest{x.row(first) + first, x.step};
    blocks.emplace_back(rest, rows - first, end - first);
    blocks.back().apply({rest.data + end - first, x.step}, columns - end, true);
  }
  for (int64_t i = 0; i < q_columns; ++i) q.row(i)[i] = 1;
  for (auto i = static_cast<int64_t>(blocks.size()) - 1; i >= 0; --i) {
    const int64_t first = i * kReflections;
    blocks[static_cast<size_t>(i)].apply({q.row(first) + first, q.step}, q_columns - first, false);
  }
}

template <class T>
std::unique_ptr<Kernel> make_qr_of(const KernelSpec& spec) {
  const Batch in(spec.inputs[0].shape);
  const Batch q(spec.outputs[0].shape);
  const Batch r(spec.outputs[1].shape);
  return make_kernel([=](const KernelArgs& args) {
    in.each([&](int64_t i) {
      const T* const from = static_cast<const T*>(args.in[0]) + i * in.size();
      const int64_t step = row_step(in.columns), q_step = row_step(q.columns);
      std::vector<double> x = read_rows(from, in.rows, in.columns);
      std::vector<double> vectors(static_cast<size_t>(q.rows * q_step));
      decompose({x.data(), step}, in.rows, in.columns, {vectors.data(), q_step}, q.columns);
      write_rows({vectors.data(), q_step}, q.rows, q.columns,
                 static_cast<T*>(args.out[0]) + i * q.size());
      write_rows({x.data(), step}, r.rows, r.columns, static_cast<T*>(args.out[1]) + i * r.size());
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_qr(const KernelSpec& spec) {
  return by_real(
      spec, [&]<class T>(T) { return make_qr_of<T>(spec); }, make_qr);
}

}  // namespace cornu::cpu
