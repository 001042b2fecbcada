// SPDX-License-Identifier: Apache-2.0
// Definitions of the factorizations. Their gradients read the whole matrix; if the forward pass
// reads only one triangle, the gradient is that of a symmetric matrix, spread over both triangles.
#include <algorithm>

#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/linalg.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/matrix.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

Tensor transposed_matrices(const Tensor& x) { return swapaxes(x, -1, -2); }
Tensor symmetric(const Tensor& x) { return (x + transposed_matrices(x)) * 0.5; }

// `who` is named in the error for a singular matrix.
Tensor triangular(const Tensor& a, const Tensor& b, bool lower, bool transposed, bool unit = false,
                  const std::string& who = "solve") {
  return call<"triangular_solve">(
      {a, b}, {{"lower", lower}, {"transpose", transposed}, {"unit", unit}, {"who", who}});
}

// b a^-1 for a triangular a: the transpose of a^-T b^T.
Tensor triangular_right(const Tensor& b, const Tensor& a, bool lower, bool transposed,
                        bool unit = false, const std::string& who = "solve") {
  return transposed_matrices(triangular(a, transposed_matrices(b), lower, !transposed, unit, who));
}

Shape require_matrix(const TensorType& type, std::string_view op) {
  require_floating(type, op);
  require_rank(type, 2, op);
  return type.shape.slice(0, type.shape.rank() - 2);
}

Shape require_square(const TensorType& type, std::string_view op) {
  const Shape leading = require_matrix(type, op);
  const int64_t rank = type.shape.rank();
  check<InvalidArgument>(type.shape[rank - 1] == type.shape[rank - 2],
                         "{}: expected square matrices, got shape {}.", op, type.shape);
  return leading;
}

// ---- lu ----

Types infer_lu(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 1, "lu_factor");
  const Shape leading = require_square(inputs[0], "lu_factor");
  return {inputs[0], {DType::Int32, leading.concat({inputs[0].shape.back()})}};
}

// x[rows] = L U. For the permuted matrix: L^-T (tril(L^T dL, -1) + triu(dU U^T)) U^-T.
Gradients vjp_lu(const VjpContext& c) {
  const Tensor& packed = c.out(0);
  const Tensor lower = tril(packed, -1) + eye(packed.dim(-1), packed.dtype());
  const Tensor upper = triu(packed);
  const Tensor of_lower = tril(c.gradient(), -1);
  const Tensor of_upper = triu(c.gradient());
  const Tensor middle = tril(matmul(transposed_matrices(lower), of_lower), -1) +
                        triu(matmul(of_upper, transposed_matrices(upper)));
  const Tensor left = triangular(packed, middle, true, true, true);
  const Tensor permuted = triangular_right(left, packed, false, true, false,
                                           "the gradient of det, slogdet or lu_factor");
  // Back to the row order of x: a row of the result is the permuted row that came from it.
  const Tensor inverse = argsort(c.out(1), -1);
  const Tensor index = broadcast_to(expand_dims(inverse, -1), permuted.shape());
  return {take_along_axis(permuted, index, -2)};
}

// ---- triangular_solve ----

Types infer_triangular_solve(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "solve_triangular");
  require_same_dtype(inputs, "solve_triangular");
  const Shape leading = require_square(inputs[0], "solve_triangular");
  const Shape& b = inputs[1].shape;
  check<InvalidArgument>(b.rank() == inputs[0].shape.rank() &&
                             b.slice(0, b.rank() - 2) == leading &&
                             b[b.rank() - 2] == inputs[0].shape.back(),
                         "solve_triangular: expected right-hand sides of as many rows as the "
                         "matrices {} have, got shape {}.",
                         inputs[0].shape, b);
  attributes.get_bool("lower");
  attributes.get_bool("transpose");
  attributes.get_bool("unit");
  return {inputs[1]};
}

Gradients vjp_triangular_solve(const VjpContext& c) {
  const bool lower = c.attributes.get_bool("lower");
  const bool transposed = c.attributes.get_bool("transpose");
  const bool unit = c.attributes.get_bool("unit");
  const Tensor of_b = triangular(c.in(0), c.gradient(), lower, !transposed, unit);
  if (!c.needed[0]) return {Tensor(), of_b};
  const Tensor product = transposed ? matmul(c.out(), of_b, {.transpose_x2 = true})
                                    : matmul(of_b, c.out(), {.transpose_x2 = true});
  const int64_t k = unit ? 1 : 0;
  return {-(lower ? tril(product, -k) : triu(product, k)), of_b};
}

// ---- cholesky ----

Types infer_cholesky(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 1, "cholesky");
  require_square(inputs[0], "cholesky");
  return {inputs[0]};
}

// L^-T phi(L^T dL) L^-1 made symmetric; phi is the lower triangle with half the diagonal.
Tensor vjp_cholesky(const VjpContext& c) {
  const Tensor& factor = c.out();
  const Tensor product = matmul(factor, tril(c.gradient()), {.transpose_x1 = true});
  const Tensor phi = tril(product) - product * (eye(factor.dim(-1), factor.dtype()) * 0.5);
  const Tensor left = triangular(factor, phi, true, true);
  return symmetric(triangular_right(left, factor, true, false));
}

// ---- eigh ----

Types infer_eigh(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 1, "eigh");
  const Shape leading = require_square(inputs[0], "eigh");
  return {{inputs[0].dtype, leading.concat({inputs[0].shape.back()})}, inputs[0]};
}

// 1 / (values_j - values_i), 0 on the diagonal.
Tensor reciprocal_gaps(const Tensor& values) {
  const Tensor same = eye(values.dim(-1), DType::Bool);
  const Tensor gaps = expand_dims(values, -2) - expand_dims(values, -1);
  return where(same, 0, reciprocal(where(same, 1, gaps)));
}

Tensor scaled_columns(const Tensor& x, const Tensor& by) { return x * expand_dims(by, -2); }
Tensor scaled_rows(const Tensor& x, const Tensor& by) { return x * expand_dims(by, -1); }

Gradients vjp_eigh(const VjpContext& c) {
  const Tensor& vectors = c.out(1);
  Tensor middle = zeros_like(vectors);
  if (c.gradient(0).defined()) {
    middle += expand_dims(c.gradient(0), -1) * eye(vectors.dim(-1), vectors.dtype());
  }
  if (c.gradient(1).defined()) {
    middle += reciprocal_gaps(c.out(0)) * matmul(vectors, c.gradient(1), {.transpose_x1 = true});
  }
  return {symmetric(matmul(matmul(vectors, middle), vectors, {.transpose_x2 = true}))};
}

// ---- qr ----

Types infer_qr(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "qr");
  const Shape leading = require_matrix(inputs[0], "qr");
  const int64_t m = inputs[0].shape[leading.rank()];
  const int64_t n = inputs[0].shape.back();
  const int64_t k = attributes.get_bool("complete") ? m : std::min(m, n);
  const DType dtype = inputs[0].dtype;
  return {{dtype, leading.concat({m, k})}, {dtype, leading.concat({k, n})}};
}

// For x with at least as many rows as columns: (dQ + Q copyltu(R dR^T - dQ^T Q)) R^-T.
Tensor tall_qr_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const Tensor m = matmul(r, dr, {.transpose_x2 = true}) - matmul(dq, q, {.transpose_x1 = true});
  const Tensor mirrored = tril(m) + transposed_matrices(tril(m, -1));
  return triangular_right(dq + matmul(q, mirrored), r, false, true);
}

Gradients vjp_qr(const VjpContext& c) {
  const Tensor& q = c.out(0);
  const Tensor& r = c.out(1);
  const int64_t m = q.dim(-2);
  const int64_t n = r.dim(-1);
  check<Unimplemented>(!c.attributes.get_bool("complete") || m <= n,
                       "qr: mode \"complete\" has no gradient for matrices with more rows than "
                       "columns, as {}. Use mode \"reduced\".",
                       c.in(0).shape());
  Tensor dq = c.gradient(0).defined() ? c.gradient(0) : zeros_like(q);
  const Tensor dr = c.gradient(1).defined() ? c.gradient(1) : zeros_like(r);
  if (m >= n) return {tall_qr_gradient(q, r, dq, dr)};
  // x = (X, Y) with a square X = Q U, and R = (U, Q^T Y).
  const Tensor of_rest = slice_axis(dr, -1, m);
  dq += matmul(slice_axis(c.in(0), -1, m), of_rest, {.transpose_x2 = true});
  const Tensor of_first =
      tall_qr_gradient(q, slice_axis(r, -1, 0, m), dq, slice_axis(dr, -1, 0, m));
  return {concatenate({of_first, matmul(q, of_rest)}, -1)};
}

// ---- svd ----

Types infer_svd(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "svd");
  const Shape leading = require_matrix(inputs[0], "svd");
  const int64_t m = inputs[0].shape[leading.rank()];
  const int64_t n = inputs[0].shape.back();
  const int64_t k = std::min(m, n);
  const bool full = attributes.get_bool("full");
  const bool vectors = attributes.get_bool("vectors");
  const DType dtype = inputs[0].dtype;
  return {{dtype, leading.concat({m, !vectors ? 0
                                     : full   ? m
                                              : k})},
          {dtype, leading.concat({k})},
          {dtype, leading.concat({!vectors ? 0
                                  : full   ? n
                                           : k,
                                  n})}};
}

// The part of x outside of the span of the columns of `basis`: x - basis basis^T x.
Tensor outside(const Tensor& basis, const Tensor& x) {
  return x - matmul(basis, matmul(basis, x, {.transpose_x1 = true}));
}

// With K = 1 / (s_j^2 - s_i^2):
// U (K * (U^T dU - dU^T U) S + S K * (V^T dV - dV^T V) + diag(ds)) V^T
//   + (1 - U U^T) dU S^-1 V^T + U S^-1 dV^T (1 - V V^T).
Gradients vjp_svd(const VjpContext& c) {
  const Tensor& x = c.in(0);
  const int64_t k = c.out(1).dim(-1);
  const bool needs_vectors = c.gradient(0).defined() || c.gradient(2).defined();
  const bool is_square = x.dim(-1) == x.dim(-2);
  check<Unimplemented>(!needs_vectors || !c.attributes.get_bool("full") || is_square,
                       "svd: the vectors of full_matrices have no gradient for matrices that "
                       "aren't square, as {}. Use full_matrices = false.",
                       x.shape());
  const bool kept = c.attributes.get_bool("vectors");
  const Svd parts = kept ? Svd{c.out(0), c.out(1), c.out(2)} : svd(x, false);
  const Tensor u = slice_axis(parts.u, -1, 0, k);
  const Tensor& s = parts.s;
  const Tensor v = transposed_matrices(slice_axis(parts.vh, -2, 0, k));
  Tensor middle = zeros(s.shape().concat({k}), s.dtype());
  if (c.gradient(1).defined()) {
    middle += expand_dims(c.gradient(1), -1) * eye(k, s.dtype());
  }
  const Tensor gaps = reciprocal_gaps(ops::square(s));
  Tensor beyond;
  auto add_beyond = [&](const Tensor& part) { beyond = beyond.defined() ? beyond + part : part; };
  if (const Tensor& du = c.gradient(0); du.defined()) {
    const Tensor turn = matmul(u, du, {.transpose_x1 = true});
    middle += scaled_columns(gaps * (turn - transposed_matrices(turn)), s);
    if (x.dim(-2) > k) {
      const Tensor part = outside(u, scaled_columns(du, reciprocal(s)));
      add_beyond(matmul(part, v, {.transpose_x2 = true}));
    }
  }
  if (c.gradient(2).defined()) {
    const Tensor dv = transposed_matrices(c.gradient(2));
    const Tensor turn = matmul(v, dv, {.transpose_x1 = true});
    middle += scaled_rows(gaps * (turn - transposed_matrices(turn)), s);
    if (x.dim(-1) > k) {
      const Tensor part = outside(v, scaled_columns(dv, reciprocal(s)));
      add_beyond(matmul(u, part, {.transpose_x2 = true}));
    }
  }
  const Tensor within = matmul(matmul(u, middle), v, {.transpose_x2 = true});
  return {beyond.defined() ? within + beyond : within};
}

}  // namespace

void register_linalg(OpRegistry& registry) {
  auto add = [&](const char* name, InferFunction infer, VjpFunction vjp, bool checks_values) {
    registry.add({.name = name,
                  .infer = std::move(infer),
                  .vjp = std::move(vjp),
                  .traits = {.checks_values = checks_values}});
  };
  add("lu", infer_lu, vjp_lu, false);
  add("triangular_solve", infer_triangular_solve, vjp_triangular_solve, true);
  add("cholesky", infer_cholesky, single(vjp_cholesky), true);
  add("eigh", infer_eigh, vjp_eigh, false);
  add("qr", infer_qr, vjp_qr, false);
  add("svd", infer_svd, vjp_svd, false);
}

}  // namespace cornu::ops
