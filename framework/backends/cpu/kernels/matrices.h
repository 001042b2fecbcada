// SPDX-License-Identifier: Apache-2.0
// What the kernels over Eigen's decompositions share. Eigen allocates while it decomposes; the
// matrices of a batch are shared out to threads, each done by one.
#pragma once

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>

#include "cornu/backends/cpu/kernel.h"
#include "cornu/backends/cpu/kernels/through_float32.h"
#include "cornu/core/threads.h"

namespace cornu::cpu {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using MatrixIn = Eigen::Map<const Matrix<T>>;
template <class T>
using MatrixOut = Eigen::Map<Matrix<T>>;
template <class T>
using VectorOut = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>;

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

  // Calls visit(index) for each matrix, which costs about its size to the power of 1.5.
  template <class Visit>
  void each(Visit visit) const {
    const int64_t cost = std::max<int64_t>(1, size() * std::max(rows, columns));
    parallel_for(count, std::max<int64_t>(1, 20'000 / cost), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) visit(i);
    });
  }
};

// The kernel that make(T{}) gives for a floating-point dtype.
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

}  // namespace cornu::cpu
