// SPDX-License-Identifier: Apache-2.0
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>

#include "framework/backends/cpu/kernels/matmul/matmul.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr int64_t kRowsAtOnce = 16;

// How far into its array an operand lies for product number `index`.
int64_t operand_offset(int64_t index, const std::vector<int64_t>& batch,
                       const std::vector<int64_t>& own, int64_t matrix) {
  int64_t offset = 0;
  int64_t step = matrix;
  for (size_t i = batch.size(); i-- > 0;) {
    if (own[i] != 1) offset += index % batch[i] * step;
    step *= own[i];
    index /= batch[i];
  }
  return offset;
}

template <class T>
struct PlainMatmul {
  MatmulProblem problem;

  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Map = Eigen::Map<const Matrix>;

  // Rows [begin, end) of product `index`.
  void rows(const KernelArgs& args, int64_t index, int64_t begin, int64_t end) const {
    const auto& [dtype, m, n, k, transpose_a, transpose_b, batch, a_batch, b_batch, bias, relu] =
        problem;
    const T* a = static_cast<const T*>(args.in[0]) + operand_offset(index, batch, a_batch, m * k);
    const T* b = static_cast<const T*>(args.in[1]) + operand_offset(index, batch, b_batch, k * n);
    T* out = static_cast<T*>(args.out[0]) + index * m * n;
    Eigen::Map<Matrix> result(out + begin * n, end - begin, n);
    const Map left(a, transpose_a ? k : m, transpose_a ? m : k);
    const Map right(b, transpose_b ? n : k, transpose_b ? k : n);
    if (transpose_a) {
      multiply(result, left.middleCols(begin, end - begin).transpose(), right);
    } else {
      multiply(result, left.middleRows(begin, end - begin), right);
    }
  }

  template <class Left>
  void multiply(Eigen::Map<Matrix>& result, const Left& left, const Map& right) const {
    if (problem.transpose_b) {
      result.noalias() = left * right.transpose();
    } else {
      result.noalias() = left * right;
    }
  }

  void operator()(const KernelArgs& args) const {
    const int64_t count = problem.batch_size();
    if (count > 1) {
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) rows(args, i, 0, problem.m);
      });
    } else {
      parallel_for(problem.m, kRowsAtOnce,
                   [&](int64_t begin, int64_t end) { rows(args, 0, begin, end); });
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_plain_matmul(const MatmulProblem& problem) {
  return dispatch_dtype(problem.dtype, [&]<class T>(T) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return make_kernel(PlainMatmul<T>{problem});
    } else {
      return nullptr;
    }
  });
}

}  // namespace cornu::cpu
