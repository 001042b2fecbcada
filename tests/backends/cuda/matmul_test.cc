// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;

void check_matmul(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b, DType dtype,
                  double tolerance) {
  CAPTURE(fmt::format("{} {} {} {} {}", dtype, a, b, transpose_a, transpose_b));
  Attributes attributes;
  attributes.set("transpose_a", transpose_a);
  attributes.set("transpose_b", transpose_b);
  check_like_cpu("matmul", {random_tensor(a, dtype, 1), random_tensor(b, dtype, 2)}, attributes,
                 tolerance);
}

void check_shapes(double tolerance) {
  check_matmul({5, 7}, {7, 3}, false, false, DType::Float32, tolerance);
  check_matmul({7, 5}, {7, 3}, true, false, DType::Float32, tolerance);
  check_matmul({5, 7}, {3, 7}, false, true, DType::Float32, tolerance);
  check_matmul({7, 5}, {3, 7}, true, true, DType::Float32, tolerance);
  check_matmul({1, 33}, {33, 1}, false, false, DType::Float32, tolerance);
  check_matmul({17, 16}, {16, 18}, false, false, DType::Float32, tolerance);
  check_matmul({4, 0}, {0, 3}, false, false, DType::Float32, 0);
  check_matmul({0, 4}, {4, 3}, false, false, DType::Float32, 0);
  check_matmul({6, 5, 7}, {6, 7, 3}, false, false, DType::Float32, tolerance);
  check_matmul({6, 5, 7}, {7, 3}, false, false, DType::Float32, tolerance);
  check_matmul({6, 7, 5}, {7, 3}, true, false, DType::Float32, tolerance);
  check_matmul({2, 3, 5, 7}, {3, 7, 4}, false, false, DType::Float32, tolerance);
  check_matmul({2, 1, 5, 7}, {1, 3, 7, 4}, false, false, DType::Float32, tolerance);
}

}  // namespace

TEST_CASE("CUDA: products of matrices through a library") { check_shapes(1e-5); }

TEST_CASE("CUDA: products of matrices without one") {
  const WithoutLibraries without;
  check_shapes(1e-5);
}

TEST_CASE("CUDA: products of matrices of other dtypes") {
  check_matmul({5, 37}, {37, 3}, false, false, DType::Int32, 0);
  check_matmul({5, 37}, {37, 3}, false, false, DType::Float64, 1e-12);
  check_matmul({5, 37}, {37, 3}, false, false, DType::BFloat16, 5e-2);
  check_matmul({5, 37}, {37, 3}, false, false, DType::Float16, 5e-3);
}

}  // namespace cornu::cuda::testing
