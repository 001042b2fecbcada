// SPDX-License-Identifier: Apache-2.0
// Factorizations on the simulated GPU: compared with the CPU's where they are unique, otherwise by
// their products.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/core/error.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using cpu::testing::tensor_of;
using cpu::testing::values_of;

// A matrix in the last two axes of a tensor.
struct PlainMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values = {};

  double operator()(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
  double& operator()(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

PlainMatrix zero_matrix(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<size_t>(rows * columns))};
}

PlainMatrix matrix_of(const Tensor& x, int64_t number = 0) {
  PlainMatrix matrix = zero_matrix(x.dim(-2), x.dim(-1));
  const std::vector<double> all = values_of(x);
  const auto begin = all.begin() + number * matrix.rows * matrix.columns;
  matrix.values.assign(begin, begin + matrix.rows * matrix.columns);
  return matrix;
}

PlainMatrix transposed_matrix(const PlainMatrix& x) {
  PlainMatrix result = zero_matrix(x.columns, x.rows);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) result(j, i) = x(i, j);
  }
  return result;
}

PlainMatrix product_of(const PlainMatrix& a, const PlainMatrix& b) {
  PlainMatrix result = zero_matrix(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) {
      for (int64_t k = 0; k < a.columns; ++k) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}

double matrix_distance(const PlainMatrix& a, const PlainMatrix& b) {
  double most = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    most = std::max(most, std::abs(a.values[i] - b.values[i]));
  }
  return most;
}

// The columns' distance from being orthonormal.
double skewness_of_columns(const PlainMatrix& x) {
  PlainMatrix product = product_of(transposed_matrix(x), x);
  for (int64_t i = 0; i < product.rows; ++i) product(i, i) -= 1;
  return matrix_distance(product, zero_matrix(product.rows, product.columns));
}

// Positive definite matrices.
Tensor definite_matrices(int64_t count, int64_t n, DType dtype) {
  const Tensor x = random_tensor({count, n, n}, DType::Float64, 3);
  std::vector<double> all;
  for (int64_t i = 0; i < count; ++i) {
    PlainMatrix product = product_of(matrix_of(x, i), transposed_matrix(matrix_of(x, i)));
    for (int64_t k = 0; k < n; ++k) product(k, k) += 1;
    all.insert(all.end(), product.values.begin(), product.values.end());
  }
  return tensor_of(all, {count, n, n}, dtype);
}

double linalg_tolerance(DType dtype) {
  return dtype == DType::Float64 ? 1e-10 : dtype == DType::Float32 ? 1e-5 : 2e-2;
}

constexpr DType kLinalgFloats[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16};

TEST_CASE("lu and cholesky like the CPU's") {
  for (const DType dtype : kLinalgFloats) {
    CAPTURE(cpu::testing::text(dtype));
    check_like_cpu("lu", {random_tensor({3, 7, 7}, dtype, 1)}, {}, linalg_tolerance(dtype));
    check_like_cpu("cholesky", {definite_matrices(3, 7, dtype)}, {}, linalg_tolerance(dtype));
  }
  check_like_cpu("lu", {random_tensor({2, 1, 1}, DType::Float32, 1)}, {}, 1e-6);
  check_like_cpu("lu", {random_tensor({0, 4, 4}, DType::Float32, 1)}, {});
  check_like_cpu("lu", {random_tensor({2, 0, 0}, DType::Float32, 1)}, {});
  check_like_cpu("cholesky", {random_tensor({2, 0, 0}, DType::Float32, 1)}, {});
  check_like_cpu("lu", {random_tensor({80, 80}, DType::Float64, 1)}, {}, 1e-9);
  check_like_cpu("cholesky", {definite_matrices(2, 75, DType::Float64)}, {}, 1e-9);
}

TEST_CASE("lu of a matrix that has no inverse") {
  check_like_cpu("lu", {tensor_of({1, 2, 0, 2, 4, 0, 0, 0, 0}, {3, 3}, DType::Float64)}, {}, 1e-12);
}

TEST_CASE("cholesky says which matrix isn't positive definite") {
  Tensor x = definite_matrices(5, 3, DType::Float64);
  x.mutable_data<double>()[2 * 9] = -1;
  x.mutable_data<double>()[4 * 9] = 0;
  CHECK_THROWS_WITH_AS(
      run_lowered("cholesky", {x}, {}, {{x.dtype(), x.shape()}}),
      "cholesky: expected symmetric positive definite matrices, but number 2 isn't one.",
      InvalidArgument);
}

TEST_CASE("triangular_solve: either triangle, transposed or not, with and without its diagonal") {
  for (const bool lower : {false, true}) {
    for (const bool transposed : {false, true}) {
      for (const bool unit : {false, true}) {
        const Attributes attributes = {
            {"lower", lower}, {"transpose", transposed}, {"unit", unit}, {"who", "inv"}};
        check_like_cpu(
            "triangular_solve",
            {definite_matrices(2, 9, DType::Float64), random_tensor({2, 9, 1}, DType::Float64, 2)},
            attributes, 1e-6);
        check_like_cpu(
            "triangular_solve",
            {definite_matrices(1, 5, DType::Float32), random_tensor({1, 5, 37}, DType::Float32, 2)},
            attributes, 1e-3);
      }
    }
  }
  const Attributes attributes = {{"lower", true}, {"transpose", false}, {"unit", false}};
  check_like_cpu(
      "triangular_solve",
      {definite_matrices(1, 170, DType::Float64), random_tensor({1, 170, 33}, DType::Float64, 2)},
      attributes, 1e-9);
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    check_like_cpu("triangular_solve",
                   {definite_matrices(2, 4, dtype), random_tensor({2, 4, 3}, dtype, 2)}, attributes,
                   2e-2);
  }
  check_like_cpu(
      "triangular_solve",
      {definite_matrices(1, 4, DType::Float32), random_tensor({1, 4, 0}, DType::Float32, 2)},
      attributes);
}

TEST_CASE("triangular_solve says which matrix has no inverse") {
  Tensor a = definite_matrices(4, 3, DType::Float32);
  a.mutable_data<float>()[1 * 9 + 4] = 0;
  a.mutable_data<float>()[3 * 9] = 0;
  const Tensor b = random_tensor({4, 3, 40}, DType::Float32, 2);
  Attributes attributes = {{"lower", true}, {"transpose", false}, {"unit", false}, {"who", "inv"}};
  CHECK_THROWS_WITH_AS(
      run_lowered("triangular_solve", {a, b}, attributes, {{b.dtype(), b.shape()}}),
      "inv: expected matrices that have an inverse, but number 1 has none (its "
      "triangular factor has a 0 on the diagonal).",
      InvalidArgument);
  attributes.set("unit", true);
  check_like_cpu("triangular_solve", {a, b}, attributes, 1e-4);
}

TEST_CASE("qr like the CPU's, whose signs are those of Householder's reflections") {
  for (const bool complete : {false, true}) {
    const Attributes attributes = {{"complete", complete}};
    for (const DType dtype : kLinalgFloats) {
      check_like_cpu("qr", {random_tensor({3, 5, 4}, dtype, 1)}, attributes,
                     linalg_tolerance(dtype));
    }
    for (const Shape& shape :
         {Shape{1, 1}, Shape{4, 9}, Shape{40, 3}, Shape{2, 3, 0}, Shape{2, 0, 3}, Shape{0, 3, 3}}) {
      check_like_cpu("qr", {random_tensor(shape, DType::Float64, 2)}, attributes, 1e-10);
    }
  }
  check_like_cpu("qr", {random_tensor({66, 50}, DType::Float64, 1)}, {{"complete", false}}, 1e-9);
  check_like_cpu("qr", {tensor_of(std::vector<double>(12), {4, 3}, DType::Float64)},
                 {{"complete", true}}, 1e-12);
}

void check_eigh(const Tensor& x, double tolerance) {
  const Shape& shape = x.shape();
  const Shape leading = shape.slice(0, shape.rank() - 2);
  const std::vector<Tensor> found = run_lowered(
      "eigh", {x}, {}, {{x.dtype(), leading.concat({shape.back()})}, {x.dtype(), shape}});
  const std::vector<double> values = values_of(found[0]);
  const int64_t n = shape.back();
  for (int64_t number = 0; number < leading.num_elements(); ++number) {
    const PlainMatrix given = matrix_of(x, number);
    const PlainMatrix vectors = matrix_of(found[1], number);
    PlainMatrix scaled = vectors;
    for (int64_t j = 0; j < n; ++j) {
      const auto own = static_cast<size_t>(number * n + j);
      if (j > 0) CHECK(values[own] >= values[own - 1]);
      for (int64_t i = 0; i < n; ++i) scaled(i, j) *= values[own];
    }
    PlainMatrix symmetric = given;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) symmetric(i, j) = given(j, i);
    }
    CHECK(skewness_of_columns(vectors) < tolerance);
    CHECK(matrix_distance(product_of(scaled, transposed_matrix(vectors)), symmetric) <
          tolerance * 4);
  }
}

TEST_CASE("eigh: values ascend, and its parts multiply to what was given") {
  for (const DType dtype : kLinalgFloats)
    check_eigh(random_tensor({3, 6, 6}, dtype, 1), linalg_tolerance(dtype));
  for (const int64_t n : {0, 1, 2, 3, 9, 33}) {
    check_eigh(random_tensor({2, n, n}, DType::Float64, 2), 1e-12);
  }
  check_eigh(definite_matrices(1, 57, DType::Float64), 1e-11);
  check_eigh(tensor_of({1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3}, DType::Float64), 1e-15);
  check_eigh(tensor_of({1, 1, 1, 1, 1, 1, 1, 1, 1}, {3, 3}, DType::Float64), 1e-14);
  check_eigh(tensor_of({0, 0, 0, 0}, {2, 2}, DType::Float64), 1e-15);
}

void check_svd(const Tensor& x, bool full, double tolerance) {
  CAPTURE(cpu::testing::text(x.shape()));
  CAPTURE(full);
  const Shape& shape = x.shape();
  const Shape leading = shape.slice(0, shape.rank() - 2);
  const int64_t m = x.dim(-2);
  const int64_t n = x.dim(-1);
  const int64_t k = std::min(m, n);
  const auto type = [&](const Shape& own) { return TensorType{x.dtype(), leading.concat(own)}; };
  const std::vector<Tensor> found =
      run_lowered("svd", {x}, {{"full", full}, {"vectors", true}},
                  {type({m, full ? m : k}), type({k}), type({full ? n : k, n})});
  const std::vector<double> values = values_of(found[1]);
  for (int64_t number = 0; number < leading.num_elements(); ++number) {
    const PlainMatrix u = matrix_of(found[0], number);
    const PlainMatrix vh = matrix_of(found[2], number);
    PlainMatrix product = zero_matrix(m, n);
    for (int64_t r = 0; r < k; ++r) {
      const auto own = static_cast<size_t>(number * k + r);
      CHECK(values[own] >= 0);
      if (r > 0) CHECK(values[own] <= values[own - 1]);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) product(i, j) += u(i, r) * values[own] * vh(r, j);
      }
    }
    CHECK(skewness_of_columns(u) < tolerance);
    CHECK(skewness_of_columns(transposed_matrix(vh)) < tolerance);
    CHECK(matrix_distance(product, matrix_of(x, number)) < tolerance * 4);
  }
}

TEST_CASE("svd: values descend, and its parts multiply to what was given") {
  for (const DType dtype : kLinalgFloats) {
    check_svd(random_tensor({2, 5, 3}, dtype, 1), true, linalg_tolerance(dtype));
  }
  for (const bool full : {false, true}) {
    for (const Shape& shape : {Shape{2, 1, 1}, Shape{3, 7}, Shape{9, 4}, Shape{6, 6},
                               Shape{2, 0, 3}, Shape{2, 3, 0}, Shape{0, 3, 3}, Shape{70, 20}}) {
      check_svd(random_tensor(shape, DType::Float64, 2), full, 1e-12);
    }
    check_svd(tensor_of({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {4, 3}, DType::Float64), full, 1e-13);
    check_svd(tensor_of(std::vector<double>(12), {3, 4}, DType::Float64), full, 1e-13);
    check_svd(tensor_of({1e200, 0, 0, 1e180, 0, 0}, {3, 2}, DType::Float64), full, 1e187);
  }
}

TEST_CASE("singular values alone like the CPU's; NaN where something isn't finite") {
  const Attributes alone = {{"full", true}, {"vectors", false}};
  check_like_cpu("svd", {random_tensor({2, 9, 5}, DType::Float64, 1)}, alone, 1e-12);
  check_like_cpu("svd", {random_tensor({4, 11}, DType::Float32, 1)}, alone, 1e-5);
  check_like_cpu("svd", {random_tensor({55, 50}, DType::Float64, 1)}, alone, 1e-11);
  Tensor x = random_tensor({2, 3, 3}, DType::Float64, 1);
  x.mutable_data<double>()[0] = std::numeric_limits<double>::infinity();
  check_like_cpu("svd", {x}, alone, 1e-12);
  x = random_tensor({3, 2}, DType::Float64, 1);
  x.mutable_data<double>()[3] = std::numeric_limits<double>::quiet_NaN();
  check_like_cpu("svd", {x}, {{"full", true}, {"vectors", true}}, 1e-12);
}

}  // namespace
}  // namespace cornu::cuda::testing
