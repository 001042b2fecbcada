// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using cpu::testing::text;

Attributes transposed(bool a, bool b) { return {{"transpose_a", a}, {"transpose_b", b}}; }

double tolerance_of(DType dtype) {
  if (dtype == DType::Float32) return 1e-5;
  if (dtype == DType::Float64) return 1e-12;
  if (dtype == DType::Float16) return 2e-3;
  return dtype == DType::BFloat16 ? 1.6e-2 : 0;
}

// Checks the product with both operands as given, with libraries and without.
void check_product(const Shape& a, const Shape& b, DType dtype, bool transpose_a = false,
                   bool transpose_b = false) {
  CAPTURE(text(a));
  CAPTURE(text(b));
  CAPTURE(text(dtype));
  const std::vector<Tensor> operands = {random_tensor(a, dtype, 1), random_tensor(b, dtype, 2)};
  const Attributes attributes = transposed(transpose_a, transpose_b);
  check_like_cpu("matmul", operands, attributes, tolerance_of(dtype));
  const WithoutLibraries own;
  check_like_cpu("matmul", operands, attributes, tolerance_of(dtype));
}

TEST_CASE("products of matrices of any size, transposed or not") {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {16, 16, 16}, {17, 33, 5}, {40, 1, 70}, {1, 50, 33}}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        check_product(a ? Shape{k, m} : Shape{m, k}, b ? Shape{n, k} : Shape{k, n}, DType::Float32,
                      a, b);
      }
    }
  }
}

TEST_CASE("products of every dtype") {
  for (const DType dtype :
       {DType::Float64, DType::Float16, DType::BFloat16, DType::Int8, DType::UInt8, DType::Int32,
        DType::Int64, DType::UInt32, DType::UInt64}) {
    check_product({19, 23}, {23, 18}, dtype);
    check_product({23, 19}, {18, 23}, dtype, true, true);
  }
}

TEST_CASE("products of int8 by a library's kernel, and where it has none") {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 4, 4}, {5, 36, 64}, {40, 8, 128}, {5, 36, 63}, {5, 35, 64}}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        check_product(a ? Shape{k, m} : Shape{m, k}, b ? Shape{n, k} : Shape{k, n}, DType::Int8, a,
                      b);
      }
    }
  }
  check_product({2, 3, 8}, {8, 12}, DType::Int8);
  check_product({2, 3, 8}, {2, 8, 12}, DType::Int8);
  check_product({2, 3, 8}, {2, 12, 8}, DType::Int8, false, true);
  check_product({2, 1, 3, 8}, {4, 12, 8}, DType::Int8, false, true);
}

TEST_CASE("batches, whose leading axes broadcast") {
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{3, 4, 5}, {3, 5, 6}},       {{3, 4, 5}, {5, 6}},
      {{4, 5}, {3, 5, 6}},          {{2, 3, 4, 5}, {5, 6}},
      {{2, 3, 4, 5}, {2, 3, 5, 6}}, {{2, 1, 4, 5}, {3, 5, 6}},
      {{2, 3, 4, 5}, {2, 1, 5, 6}}, {{3, 1, 2, 4, 5}, {3, 2, 1, 5, 6}},
      {{1, 1, 4, 5}, {1, 3, 5, 6}}, {{2, 1, 3, 1, 4, 5}, {1, 5, 1, 2, 5, 6}},
      {{1, 4, 5}, {1, 5, 6}},
  };
  for (const auto& [a, b] : cases) check_product(a, b, DType::Float32);
  check_product({2, 3, 5, 4}, {2, 3, 6, 5}, DType::Float32, true, true);
  check_product({3, 5, 4}, {5, 6}, DType::Float32, true, false);
  check_product({3, 4, 5}, {6, 5}, DType::BFloat16, false, true);
}

TEST_CASE("products of nothing") {
  check_product({3, 0}, {0, 4}, DType::Float32);
  check_product({2, 3, 0}, {0, 4}, DType::Int32);
  check_product({0, 5}, {5, 4}, DType::Float32);
  check_product({2, 0, 3, 5}, {5, 4}, DType::Float32);
}

}  // namespace
}  // namespace cornu::cuda::testing
