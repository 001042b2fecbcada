// SPDX-License-Identifier: Apache-2.0
// Linear algebra (keras.ops.linalg) on the last two axes, over all leading axes. float32 and
// float64; 16-bit floats are computed in float32, integers become float32. Gradients follow Giles,
// "Collected matrix derivative results for forward and reverse mode algorithmic differentiation"
// (2008), Townsend, "Differentiating the singular value decomposition" (2016), and, for qr, Liao et
// al., "Differentiable programming tensor networks" (2019); written in ops.
//
// Throws InvalidArgument for matrices of the wrong shape, and at run time for a matrix that is
// singular (solve, inv, solve_triangular) or isn't positive definite (cholesky).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// ---- norms ----

struct NormOptions {
  // For vectors: a number p, the p-norm (None: 2). For matrices: "fro" (None), "nuc", 1, -1, 2, -2
  // (by singular values), infinity, -infinity.
  std::optional<double> ord = {};
  std::string name = {};  // "fro" or "nuc" instead of ord
  Axes axis = {};         // one: vector norms; two: matrix norms; none: all axes of x
  bool keepdims = false;
};

Tensor norm(const Tensor& x, const NormOptions& options = {});

// ---- square matrices ----

Tensor det(const Tensor& x);
// The sign (or 0) and the logarithm of the absolute value of the determinant.
std::pair<Tensor, Tensor> slogdet(const Tensor& x);
// log(det(x)) of positive definite matrices.
Tensor logdet(const Tensor& x);
Tensor inv(const Tensor& x);
// Solves a x = b for x. b: matrices, or vectors (one axis fewer than a).
Tensor solve(const Tensor& a, const Tensor& b);
// Likewise for a triangular a, of which only that triangle is read.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower = false);
// L of x = L L^T, lower triangular (upper: L^T). Only the lower triangle of x is read.
Tensor cholesky(const Tensor& x, bool upper = false);
// The inverse of the matrix whose Cholesky factor is x.
Tensor cholesky_inverse(const Tensor& x, bool upper = false);
// L (without its unit diagonal) and U in one matrix, and for each row of x its row in L U (int32),
// as in Keras on TensorFlow.
std::pair<Tensor, Tensor> lu_factor(const Tensor& x);
// Eigenvalues (ascending) and eigenvectors (columns) of symmetric matrices, of which only the lower
// triangle is read.
std::pair<Tensor, Tensor> eigh(const Tensor& x);

// ---- any matrices (..., m, n) ----

// Orthonormal columns q and an upper triangular r with x = q r. mode "reduced": q (..., m, k), r
// (..., k, n), k = min(m, n); "complete": q (..., m, m), r (..., m, n).
std::pair<Tensor, Tensor> qr(const Tensor& x, const std::string& mode = "reduced");

struct Svd {
  Tensor u;   // (..., m, m), reduced (..., m, k); undefined without compute_uv
  Tensor s;   // (..., k), descending
  Tensor vh;  // (..., n, n), reduced (..., k, n)
};

// x = u diag(s) vh. Gradients of u and vh require full_matrices = false (or square x) and distinct
// singular values.
Svd svd(const Tensor& x, bool full_matrices = true, bool compute_uv = true);
// The number of singular values above tol (None: the largest one times max(m, n) times epsilon),
// int32.
Tensor matrix_rank(const Tensor& x, std::optional<double> tol = {});
// The Moore-Penrose inverse; singular values up to rcond (None: 10 max(m, n) epsilon) times the
// largest one count as 0.
Tensor pinv(const Tensor& x, std::optional<double> rcond = {});
// The x that minimizes |a x - b|, for one matrix a (m, n) and b (m) or (m, k); if there are
// several, the shortest.
Tensor lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond = {});

}  // namespace cornu::ops
