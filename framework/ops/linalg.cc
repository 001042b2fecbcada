// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/matrix.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/solve.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Tensors = std::vector<Tensor>;

Tensor adjoint(const Tensor& x) { return swapaxes(x, -1, -2); }

KerasForm form(const char* class_name, Json config = Json::object()) {
  return {"linalg", class_name, std::move(config)};
}

Json or_none(std::optional<double> number) { return number ? Json(*number) : Json(); }

std::pair<Tensor, Tensor> pair_of(const Tensors& tensors) { return {tensors[0], tensors[1]}; }
Tensors list_of(const std::pair<Tensor, Tensor>& pair) { return {pair.first, pair.second}; }

// A function that returns two tensors, as a single op of a functional model.
template <class F>
std::pair<Tensor, Tensor> whole_pair(const char* name, const Tensor& x, const KerasForm& form,
                                     F f) {
  return pair_of(
      apply_whole(name, {x}, form, [f](const Tensors& in) { return list_of(f(in[0])); }));
}

double epsilon_of(DType dtype) {
  return dtype == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                 : std::numeric_limits<float>::epsilon();
}

struct Lu {
  Tensor packed;
  Tensor rows;  // of x, in the order of L U
};

Lu factored(const Tensor& x) {
  const std::vector<Tensor> outputs = apply(op<"lu">(), {to_floating(x)}, {});
  return {outputs[0], outputs[1]};
}

Tensor solve_factor(const Tensor& a, const Tensor& b, bool lower, bool unit,
                    const std::string& who = {}) {
  Attributes attributes{{"lower", lower}, {"transpose", false}, {"unit", unit}};
  if (!who.empty()) attributes.set("who", who);
  return call<"triangular_solve">({a, b}, attributes);
}

// The sign of each permutation in the last axis: 1 for an even number of inversions.
Tensor parity(const Tensor& rows, DType dtype) {
  const int64_t n = rows.dim(-1);
  const Tensor pairs = greater(expand_dims(rows, -1), expand_dims(rows, -2));
  const Tensor out_of_order = triu(cast(pairs, DType::Int32), 1);
  return 1 - cast(mod(sum(out_of_order, {-2, -1}), 2), dtype) * (n > 0 ? 2 : 0);
}

// The largest of the singular values in the last axis; 0 if there are none.
Tensor largest_of(const Tensor& s) {
  const bool none = s.dim(-1) == 0;
  return none ? zeros(s.shape().slice(0, s.rank() - 1).concat({1}), s.dtype()) : max(s, -1, true);
}

Tensor diagonal_of(const Tensor& x) { return diagonal(x, {.axis1 = -2, .axis2 = -1}); }

// Both operands in one floating-point dtype with the same leading axes; b as matrices.
struct System {
  Tensor a;
  Tensor b;
  bool vectors;  // whether b was given as vectors
};

System prepared(const Tensor& a, const Tensor& b, std::string_view who) {
  check<InvalidArgument>(a.rank() >= 2 && b.rank() >= 1 && a.dim(-1) == a.dim(-2),
                         "{}: expected square matrices and right-hand sides, got shapes {} and {}.",
                         who, a.shape(), b.shape());
  const auto [first, second] = unify(a, b, who);
  System system{to_floating(first), to_floating(second), b.rank() == a.rank() - 1};
  if (system.vectors) system.b = expand_dims(system.b, -1);
  check<InvalidArgument>(system.b.rank() >= 2 && system.b.dim(-2) == a.dim(-1),
                         "{}: expected right-hand sides of {} rows, as the matrices of shape {} "
                         "have, got shape {}.",
                         who, a.dim(-1), a.shape(), b.shape());
  const Shape sides = system.b.shape();
  const Shape leading =
      broadcast_shapes(a.shape().slice(0, a.rank() - 2), sides.slice(0, sides.rank() - 2), who);
  system.a = broadcast_to(system.a, leading.concat(a.shape().slice(a.rank() - 2)));
  system.b = broadcast_to(system.b, leading.concat(sides.slice(sides.rank() - 2)));
  return system;
}

Tensor solution(const System& system, const Tensor& x) {
  return system.vectors ? squeeze(x, -1) : x;
}

// x to the power of p > 0, for x >= 0. The gradient at 0 is 0, where a root has none.
Tensor rooted(const Tensor& x, double p) {
  if (p >= 1) return power(x, p);
  const Tensor zero = equal(x, 0);
  const Tensor safe = where(zero, 1, x);
  return where(zero, 0, p == 0.5 ? sqrt(safe) : power(safe, p));
}

// The norm of vectors along `axes`. Its subgradient at 0 is taken to be 0.
Tensor vector_norm(const Tensor& x, double ord, const std::vector<int64_t>& axes, bool keepdims) {
  if (ord == 2) {
    return at_once<"norm", true>({x}, {{"axes", axes}, {"keepdims", keepdims}},
                                 [&](const std::vector<Tensor>& in) {
                                   return rooted(sum(square(in[0]), axes, keepdims), 0.5);
                                 });
  }
  if (std::isinf(ord)) return ord > 0 ? max(abs(x), axes, keepdims) : min(abs(x), axes, keepdims);
  if (ord == 0) return sum(cast(not_equal(x, 0), x.dtype()), axes, keepdims);
  if (ord == 1) return sum(abs(x), axes, keepdims);
  if (ord > 0) return rooted(sum(rooted(abs(x), ord), axes, keepdims), 1 / ord);
  return power(sum(power(abs(x), ord), axes, keepdims), 1 / ord);
}

// The norm of matrices in the last two axes, which stay with size 1.
Tensor matrix_norm(const Tensor& x, double ord) {
  const int64_t summed = std::abs(ord) == 1 ? -2 : -1;
  if (std::abs(ord) == 1 || std::isinf(ord)) {
    const Tensor sums = sum(abs(x), summed, true);
    return ord > 0 ? max(sums, {-2, -1}, true) : min(sums, {-2, -1}, true);
  }
  check<InvalidArgument>(std::abs(ord) == 2,
                         "norm: expected ord 1, -1, 2, -2 or an infinity for matrices, got {}. For "
                         "vectors give one axis.",
                         ord);
  const Tensor s = expand_dims(svd(x, false, false).s, -1);
  return ord > 0 ? max(s, -2, true) : min(s, -2, true);
}

}  // namespace

Tensor norm(const Tensor& x, const NormOptions& options) {
  const ErrorPlace scope("norm");
  const std::string& name = options.name;
  check<InvalidArgument>(name.empty() || name == "fro" || name == "nuc",
                         "norm: expected \"fro\" or \"nuc\", got \"{}\".", name);
  const Tensor real = to_floating(x);
  const std::vector<int64_t> sorted = options.axis.normalized(x.shape(), "norm");
  const auto count = sorted.size();
  const bool plain = !options.ord && name.empty();
  check<InvalidArgument>(plain || count == 1 || count == 2,
                         "norm: expected one axis (vectors) or two (matrices) for ord, got {} of "
                         "shape {}.",
                         count, x.shape());
  check<InvalidArgument>(name.empty() || count == 2,
                         "norm: \"{}\" is a norm of matrices: expected two axes, got {} of shape "
                         "{}.",
                         name, count, x.shape());
  if (plain || name == "fro") return vector_norm(real, 2, sorted, options.keepdims);
  if (count == 1) return vector_norm(real, *options.ord, sorted, options.keepdims);
  // The first given axis has the rows.
  const std::vector<int64_t> given = options.axis.all() ? sorted : options.axis.values();
  const int64_t row = x.shape().normalize_axis(given[0], "norm");
  const int64_t column = x.shape().normalize_axis(given[1], "norm");
  const Tensor rows_last = moveaxis(real, row, -1);
  const Tensor matrices = moveaxis(rows_last, column < row ? column : column - 1, -1);
  const Tensor result = name == "nuc"
                            ? sum(expand_dims(svd(matrices, false, false).s, -1), -2, true)
                            : matrix_norm(matrices, *options.ord);
  return reshape(result, reduced_shape(x.shape(), sorted, options.keepdims));
}

std::pair<Tensor, Tensor> lu_factor(const Tensor& x) {
  if (is_open(x)) return whole_pair("lu_factor", x, form("LuFactor"), lu_factor);
  const Lu lu = factored(x);
  return {lu.packed, argsort(lu.rows, -1)};
}

Tensor det(const Tensor& x) {
  const ErrorPlace scope("det");
  if (is_open(x)) return whole_of("det", x, form("Det"), det);
  const Lu lu = factored(x);
  return prod(diagonal_of(lu.packed), -1) * parity(lu.rows, lu.packed.dtype());
}

std::pair<Tensor, Tensor> slogdet(const Tensor& x) {
  const ErrorPlace scope("slogdet");
  if (is_open(x)) return whole_pair("slogdet", x, {"numpy", "Slogdet"}, slogdet);
  const Lu lu = factored(x);
  const Tensor diagonal = diagonal_of(lu.packed);
  return {prod(sign(diagonal), -1) * parity(lu.rows, lu.packed.dtype()),
          sum(log(abs(diagonal)), -1)};
}

Tensor logdet(const Tensor& x) {
  const ErrorPlace scope("logdet");
  if (is_open(x)) return whole_of("logdet", x, {"math", "Logdet"}, logdet);
  return sum(log(diagonal_of(cholesky(x))), -1) * 2;
}

Tensor inv(const Tensor& x) {
  const ErrorPlace scope("inv");
  if (is_open(x)) return whole_of("inv", x, form("Inv"), inv);
  check<InvalidArgument>(x.rank() >= 2 && x.dim(-1) == x.dim(-2),
                         "inv: expected square matrices, got shape {}.", x.shape());
  const Tensor real = to_floating(x);
  return solve(real, broadcast_to(eye(x.dim(-1), real.dtype()), x.shape()));
}

Tensor internal::solve_for(const std::string& who, const Tensor& a, const Tensor& b) {
  if (is_open(a) || is_open(b)) {
    return apply_whole("solve", {a, b},
                       [who](const Tensors& in) { return Tensors{solve_for(who, in[0], in[1])}; })
        .front();
  }
  const System system = prepared(a, b, who);
  const Lu lu = factored(system.a);
  const Tensor rows = broadcast_to(expand_dims(lu.rows, -1), system.b.shape());
  const Tensor permuted = take_along_axis(system.b, rows, -2);
  const Tensor half = solve_factor(lu.packed, permuted, true, true, who);
  return solution(system, solve_factor(lu.packed, half, false, false, who));
}

Tensor solve(const Tensor& a, const Tensor& b) {
  const ErrorPlace scope("solve");
  if (is_open(a) || is_open(b)) {
    return whole_of("solve", Tensors{a, b}, form("Solve"),
                    [](const Tensors& in) { return solve(in[0], in[1]); });
  }
  return solve_for("solve", a, b);
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower) {
  if (is_open(a) || is_open(b)) {
    return whole_of("solve_triangular", Tensors{a, b},
                    form("SolveTriangular", Json::object({{"lower", lower}})),
                    [lower](const Tensors& in) { return solve_triangular(in[0], in[1], lower); });
  }
  const System system = prepared(a, b, "solve_triangular");
  return solution(system, solve_factor(system.a, system.b, lower, false));
}

Tensor cholesky(const Tensor& x, bool upper) {
  const ErrorPlace scope("cholesky");
  if (is_open(x)) {
    return whole_of("cholesky", x, form("Cholesky", Json::object({{"upper", upper}})),
                    [upper](const Tensor& in) { return cholesky(in, upper); });
  }
  const Tensor factor = call<"cholesky">({to_floating(x)});
  return upper ? adjoint(factor) : factor;
}

Tensor cholesky_inverse(const Tensor& x, bool upper) {
  if (is_open(x)) {
    return whole_of("cholesky_inverse", x,
                    form("CholeskyInverse", Json::object({{"upper", upper}})),
                    [upper](const Tensor& in) { return cholesky_inverse(in, upper); });
  }
  check<InvalidArgument>(x.rank() >= 2 && x.dim(-1) == x.dim(-2),
                         "cholesky_inverse: expected square matrices, got shape {}.", x.shape());
  const Tensor real = to_floating(x);
  const Tensor half =
      solve_triangular(real, broadcast_to(eye(x.dim(-1), real.dtype()), x.shape()), !upper);
  return upper ? matmul(half, half, {.transpose_x2 = true})
               : matmul(half, half, {.transpose_x1 = true});
}

std::pair<Tensor, Tensor> eigh(const Tensor& x) {
  const ErrorPlace scope("eigh");
  if (is_open(x)) return whole_pair("eigh", x, form("Eigh"), eigh);
  const std::vector<Tensor> outputs = apply(op<"eigh">(), {to_floating(x)}, {});
  return {outputs[0], outputs[1]};
}

std::pair<Tensor, Tensor> qr(const Tensor& x, const std::string& mode) {
  const ErrorPlace scope("qr");
  check<InvalidArgument>(mode == "reduced" || mode == "complete",
                         "qr: expected mode \"reduced\" or \"complete\", got \"{}\".", mode);
  if (is_open(x)) {
    return whole_pair("qr", x, form("Qr", Json::object({{"mode", mode}})),
                      [mode](const Tensor& in) { return qr(in, mode); });
  }
  const std::vector<Tensor> outputs =
      apply(op<"qr">(), {to_floating(x)}, {{"complete", mode == "complete"}});
  return {outputs[0], outputs[1]};
}

Svd svd(const Tensor& x, bool full_matrices, bool compute_uv) {
  if (is_open(x)) {
    const Json config =
        Json::object({{"full_matrices", full_matrices}, {"compute_uv", compute_uv}});
    const Tensors parts = apply_whole("svd", {x}, form("SVD", config), [=](const Tensors& in) {
      const Svd all = svd(in[0], full_matrices, compute_uv);
      return compute_uv ? Tensors{all.u, all.s, all.vh} : Tensors{all.s};
    });
    if (!compute_uv) return {.u = {}, .s = parts[0], .vh = {}};
    return {.u = parts[0], .s = parts[1], .vh = parts[2]};
  }
  const std::vector<Tensor> outputs =
      apply(op<"svd">(), {to_floating(x)},
            {{"full", full_matrices && compute_uv}, {"vectors", compute_uv}});
  if (!compute_uv) return {.u = {}, .s = outputs[1], .vh = {}};
  return {.u = outputs[0], .s = outputs[1], .vh = outputs[2]};
}

Tensor matrix_rank(const Tensor& x, std::optional<double> tol) {
  const ErrorPlace scope("matrix_rank");
  if (is_open(x)) {
    return whole_of("matrix_rank", x, form("MatrixRank", Json::object({{"tol", or_none(tol)}})),
                    [tol](const Tensor& in) { return matrix_rank(in, tol); });
  }
  const Tensor s = svd(x, false, false).s;
  const double least = static_cast<double>(std::max(x.dim(-1), x.dim(-2))) * epsilon_of(s.dtype());
  const Tensor bound = tol ? constant_like(s, *tol) : largest_of(s) * least;
  return sum(cast(s > bound, DType::Int32), -1);
}

Tensor pinv(const Tensor& x, std::optional<double> rcond) {
  const ErrorPlace scope("pinv");
  if (is_open(x)) {
    return whole_of("pinv", x, form("Pinv", Json::object({{"rcond", or_none(rcond)}})),
                    [rcond](const Tensor& in) { return pinv(in, rcond); });
  }
  const Svd parts = svd(x, false);
  const double least = rcond.value_or(10 * static_cast<double>(std::max(x.dim(-1), x.dim(-2))) *
                                      epsilon_of(parts.s.dtype()));
  const Tensor counts = parts.s > largest_of(parts.s) * least;
  const Tensor inverse = where(counts, reciprocal(where(counts, parts.s, 1)), 0);
  return matmul(adjoint(parts.vh) * expand_dims(inverse, -2), parts.u, {.transpose_x2 = true});
}

Tensor lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond) {
  const ErrorPlace scope("lstsq");
  if (is_open(a) || is_open(b)) {
    return whole_of("lstsq", Tensors{a, b},
                    form("Lstsq", Json::object({{"rcond", or_none(rcond)}})),
                    [rcond](const Tensors& in) { return lstsq(in[0], in[1], rcond); });
  }
  check<InvalidArgument>(a.rank() == 2 && (b.rank() == 1 || b.rank() == 2) && a.dim(0) == b.dim(0),
                         "lstsq: expected a matrix and right-hand sides of as many rows, got "
                         "shapes {} and {}.",
                         a.shape(), b.shape());
  const auto [first, second] = unify(a, b, "lstsq");
  const Tensor sides = to_floating(b.rank() == 1 ? expand_dims(second, 1) : second);
  const double least =
      rcond.value_or(static_cast<double>(std::max(a.dim(0), a.dim(1))) * epsilon_of(sides.dtype()));
  const Tensor x = matmul(pinv(first, least), sides);
  return b.rank() == 1 ? squeeze(x, 1) : x;
}

}  // namespace cornu::ops
