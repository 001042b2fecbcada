// SPDX-License-Identifier: Apache-2.0
// What matmul kernels are made for.
#pragma once

#include <memory>
#include <vector>

#include "framework/backends/cpu/kernel.h"

namespace cornu::cpu {

// out[batch] = activation(a[batch] (m x k) * b[batch] (k x n) + bias), row-major.
struct MatmulProblem {
  MatmulProblem() = default;
  explicit MatmulProblem(const KernelSpec& spec);

  DType dtype = DType::Float32;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;  // a lies as k x m
  bool transpose_b = false;  // b lies as n x k
  // Batch axes, merged where both operands step alike. An operand's are `batch`'s, or 1 where it is
  // broadcast.
  std::vector<int64_t> batch;
  std::vector<int64_t> a_batch;
  std::vector<int64_t> b_batch;
  bool bias = false;
  bool relu = false;

  int64_t batch_size() const;
};

// float32 and bfloat16; null for other dtypes and where oneDNN has no fast form.
std::unique_ptr<Kernel> make_onednn_matmul(const MatmulProblem& problem);

// Any dtype with products: float64 and integers (Eigen).
std::unique_ptr<Kernel> make_plain_matmul(const MatmulProblem& problem);

}  // namespace cornu::cpu
