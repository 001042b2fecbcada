// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels that use Eigen's decompositions. Each is compiled for float64 only, since
// its templates take long to compile: other dtypes are cast on the way in and out. Eigen allocates
// while it decomposes; the matrices of a batch are divided among threads.
#pragma once

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {

using Doubles = Eigen::MatrixXd;

// The matrices in the last two axes of a shape.
struct Batch {
  explicit Batch(const Shape& shape)
      : count(shape.slice(0, shape.rank() - 2).num_elements()),
        rows(shape[shape.rank() - 2]),
        columns(shape.back()) {}
  int64_t size() const { return rows * columns; }

  int64_t count;
  int64_t rows;
  int64_t columns;

  // Calls visit(index) for each matrix, which is assumed to cost about its size to the power of
  // 1.5.
  template <class Visit>
  void each(Visit visit) const {
    const int64_t cost = std::max<int64_t>(1, size() * std::max(rows, columns));
    parallel_for(count, std::max<int64_t>(1, 20'000 / cost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) visit(i);
    });
  }
};

// Calls visit(row, column) for all elements of a matrix, in blocks whose cache lines stay in a
// cache both by rows and by columns.
template <class Visit>
void each_element(const Batch& batch, Visit visit) {
  constexpr int64_t kBlock = 16;
  for (int64_t first_row = 0; first_row < batch.rows; first_row += kBlock) {
    const int64_t last_row = std::min(first_row + kBlock, batch.rows);
    for (int64_t first = 0; first < batch.columns; first += kBlock) {
      const int64_t last = std::min(first + kBlock, batch.columns);
      for (int64_t column = first; column < last; ++column) {
        for (int64_t row = first_row; row < last_row; ++row) visit(row, column);
      }
    }
  }
}

// Matrix `index` of a batch with elements of type T.
template <class T>
Doubles read_matrix(const void* from, int64_t index, const Batch& batch) {
  const T* in = static_cast<const T*>(from) + index * batch.size();
  Doubles matrix(batch.rows, batch.columns);
  each_element(batch, [&](int64_t row, int64_t column) {
    matrix(row, column) = in[row * batch.columns + column];
  });
  return matrix;
}

template <class T>
void write_matrix(const Doubles& matrix, void* to, int64_t index, const Batch& batch) {
  T* out = static_cast<T*>(to) + index * batch.size();
  each_element(batch, [&](int64_t row, int64_t column) {
    out[row * batch.columns + column] = static_cast<T>(matrix(row, column));
  });
}

template <class T>
void write_vector(const Eigen::VectorXd& vector, void* to, int64_t index) {
  T* out = static_cast<T*>(to) + index * vector.size();
  for (int64_t i = 0; i < vector.size(); ++i) *out++ = static_cast<T>(vector(i));
}

// Returns the kernel from make(T{}) for a floating-point dtype T.
template <class Make>
std::unique_ptr<Kernel> by_real(const KernelSpec& spec, Make make, const KernelFactory& self) {
  switch (spec.inputs[0].dtype) {
    case DType::Float32:
      return make(float{});
    case DType::Float64:
      return make(double{});
    default:
      return through_float32(spec, self);
  }
}

// In separate files, so that each compiles in seconds.
std::unique_ptr<Kernel> make_lu(const KernelSpec& spec);
std::unique_ptr<Kernel> make_qr(const KernelSpec& spec);
std::unique_ptr<Kernel> make_svd(const KernelSpec& spec);

}  // namespace cornu::cpu
