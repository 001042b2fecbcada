// SPDX-License-Identifier: Apache-2.0
// The parameters of a matrix product.
#pragma once

#include <memory>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/pooling/rectify.h"

namespace cornu::cpu {

// out[batch] = activation(a[batch] (m x k) * b[batch] (k x n) + bias), row-major.
struct MatmulProblem {
  MatmulProblem() = default;
  explicit MatmulProblem(const KernelSpec& spec);

  DType dtype = DType::Float32;  // of the result
  bool is_int8 = false;          // operands of int8, a result of int32; else they have its dtype
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;  // a is stored as k x m
  bool transpose_b = false;  // b is stored as n x k
  // Batch axes, merged where both operands iterate alike. An operand's sizes are `batch`'s, or 1
  // where it is broadcast.
  std::vector<int64_t> batch;
  std::vector<int64_t> a_batch;
  std::vector<int64_t> b_batch;
  bool bias = false;
  Activation activation = Activation::None;

  int64_t batch_size() const;
};

// float32, bfloat16 and int8; null for other dtypes and if oneDNN has no fast implementation.
std::unique_ptr<Kernel> make_onednn_matmul(const MatmulProblem& problem);

// Products of a matrix and a vector, of float32 and float64; null for others.
std::unique_ptr<Kernel> make_dots(const MatmulProblem& problem);

// Products of float32 with a matrix that is zero except for a band of each row; null for others.
// Elements of a outside of the bands contribute 0, whatever they are multiplied by.
std::unique_ptr<Kernel> make_banded_matmul(const MatmulProblem& problem);

// Any arithmetic dtype: floating-point numbers by Eigen, integers by loops.
std::unique_ptr<Kernel> make_plain_matmul(const MatmulProblem& problem);

}  // namespace cornu::cpu
