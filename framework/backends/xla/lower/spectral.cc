// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values by Jacobi rotations. An iteration rotates disjoint pairs: row i
// of the upper half with row i of the lower one. Between iterations rows move as in a round-robin
// tournament (Brent and Luk 1985), so that a sweep of n - 1 iterations pairs every two rows.
#include <algorithm>

#include "framework/backends/xla/lower/matrices.h"

namespace cornu::xla {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kSweeps = 16;  // convergence is quadratic in the end

// Halves of axis 1 or 2.
std::pair<Value, Value> halves(Writer& to, const Value& x, int64_t axis) {
  const int64_t half = x.shape()[axis] / 2;
  return {slice_axis(to, x, axis, 0, half), slice_axis(to, x, axis, half, 2 * half)};
}

Value joined(Writer& to, const Value& a, const Value& b, int64_t axis) {
  const Value parts[] = {a, b};
  return concatenate(to, parts, axis);
}

// The next round: the first row stays, the others rotate through both halves.
Value next_round(Writer& to, const Value& x, int64_t axis) {
  const auto [upper, lower] = halves(to, x, axis);
  const int64_t half = upper.shape()[axis];
  if (half == 1) return x;
  const auto part = [&](const Value& from, int64_t begin, int64_t end) {
    return slice_axis(to, from, axis, begin, end);
  };
  Values up = {part(upper, 0, 1), part(lower, 0, 1)};
  if (half > 2) up.push_back(part(upper, 1, half - 1));
  const Value parts[] = {concatenate(to, up, axis), part(lower, 1, half),
                         part(upper, half - 1, half)};
  return concatenate(to, parts, axis);
}

// Cosines and sines of the rotations that diagonalize [[a, g], [g, b]].
std::pair<Value, Value> rotations(Writer& to, const Value& a, const Value& b, const Value& g) {
  const Value one = like(to, 1, a);
  const Value zero = like(to, 0, a);
  const Value none = compare(to, "EQ", g, zero);
  const Value divisor = select(to, none, one, add(to, g, g));
  const Value tau = divide(to, subtract(to, b, a), divisor);
  const Value root = unary(to, "sqrt", add(to, one, multiply(to, tau, tau)));
  const Value size = divide(to, one, add(to, unary(to, "abs", tau), root));
  const Value is_negative = compare(to, "LT", tau, zero);
  const Value signed_size = select(to, is_negative, unary(to, "negate", size), size);
  const Value tangent = select(to, none, zero, signed_size);
  const Value cosine =
      divide(to, one, unary(to, "sqrt", add(to, one, multiply(to, tangent, tangent))));
  return {cosine, multiply(to, tangent, cosine)};
}

// Rotates rows (axis 1) or columns (axis 2) of both halves.
Value rotated(Writer& to, const Value& x, const Value& cosine, const Value& sine, int64_t axis) {
  const auto [upper, lower] = halves(to, x, axis);
  const Ints axes = {0, axis};
  const Value c = broadcast_in(to, cosine, upper.shape(), axes);
  const Value s = broadcast_in(to, sine, upper.shape(), axes);
  const Value first = subtract(to, multiply(to, c, upper), multiply(to, s, lower));
  const Value second = add(to, multiply(to, s, upper), multiply(to, c, lower));
  return joined(to, first, second, axis);
}

// The matrix with one more row and column, zero except for `corner` (count) on the diagonal.
Value bordered(Writer& to, const Value& x, const Value& corner) {
  const Ints none = {0, 0, 0};
  const Ints high = {0, 1, 1};
  const Value wider = pad(to, x, splat(to, 0, {x.dtype(), {}}), none, high, none);
  const Value last = splat_int(to, x.shape()[1], {DType::Int64, {}});
  const Value everywhere = spread(to, last, wider.shape());
  const Value is_corner = both(to, compare(to, "EQ", row_numbers(to, wider), everywhere),
                               compare(to, "EQ", column_numbers(to, wider), everywhere));
  return select(to, is_corner, broadcast_in(to, corner, wider.shape(), Ints{0}), wider);
}

// The columns of `x` (and of `y`), sorted by `keys` (count, columns).
struct Sorted {
  Value keys;
  Value x;
};
Sorted sorted_columns(Writer& to, const Value& keys, const Value& x, bool descending) {
  const Value all = broadcast_in(to, keys, x.shape(), Ints{0, 2});
  const TensorType key{keys.dtype(), {}};
  const TensorType arguments[] = {key, key, key, key};
  const std::string order = to.region(arguments, [&](std::span<const Value> v) -> Values {
    return {compare(to, descending ? "GT" : "LT", v[0], v[1])};
  });
  const Value operands[] = {all, x};
  const TensorType types[] = {x.type, x.type};
  const Values sorted =
      to.ops("stablehlo.sort", operands, types, "dimension = 2 : i64, is_stable = true", order);
  const Value first = slice_axis(to, sorted[0], 1, 0, 1);
  return {reshape(to, first, keys.shape()), sorted[1]};
}

// Mirrors the lower triangle to the upper one.
Value mirrored(Writer& to, const Value& x) {
  const Value above = compare(to, "LT", row_numbers(to, x), column_numbers(to, x));
  return select(to, above, transpose(to, x, Ints{0, 2, 1}), x);
}

Values lower_eigh(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  if (in[0].shape().num_elements() == 0) return {splat(to, 0, spec.outputs[0]), in[0]};
  Value a = mirrored(to, batch_of(to, in[0]));
  const int64_t size = a.shape()[1];
  const bool odd = size % 2 == 1;
  if (odd) {  // with an eigenvalue that is larger than all others
    const Value bound =
        reduce(to, "add", unary(to, "abs", a), splat(to, 1, {a.dtype(), {}}), Ints{1, 2});
    a = bordered(to, a, add(to, bound, bound));
  }
  const int64_t turns = kSweeps * std::max<int64_t>(1, a.shape()[1] - 1);
  const Values done = repeat(
      to, turns, {a, eye_of(to, a.type)}, [&](const Value&, std::span<const Value> v) -> Values {
        const auto [upper, lower] = halves(to, v[0], 1);
        const auto [upper_left, upper_right] = halves(to, upper, 2);
        const Value lower_right = halves(to, lower, 2).second;
        const auto [c, s] = rotations(to, diagonal(to, upper_left), diagonal(to, lower_right),
                                      diagonal(to, upper_right));
        const Value turned = rotated(to, rotated(to, v[0], c, s, 1), c, s, 2);
        const Value next = next_round(to, next_round(to, turned, 1), 2);
        return {next, next_round(to, rotated(to, v[1], c, s, 2), 2)};
      });
  const Sorted sorted = sorted_columns(to, diagonal(to, done[0]), done[1], false);
  const Value values = slice_axis(to, sorted.keys, 1, 0, size);
  const Value vectors = slice_axis(to, slice_axis(to, sorted.x, 2, 0, size), 1, 0, size);
  return {out_of_batch(to, values, spec.outputs[0]), out_of_batch(to, vectors, spec.outputs[1])};
}

// Singular values of (count, rows >= columns) in descending order, with the matrix and the identity
// matrix whose columns were rotated in the same way.
struct Rotated {
  Value values;
  Value products;
  Value vectors;
};
Rotated one_sided(Writer& to, const Value& x) {
  const int64_t columns = x.shape()[2];
  Value a = x;
  Value v = eye_of(to, {x.dtype(), {x.shape()[0], columns, columns}});
  if (columns % 2 == 1) {
    const Ints none = {0, 0, 0};
    const Ints high = {0, 0, 1};
    const Value zero = splat(to, 0, {x.dtype(), {}});
    a = pad(to, a, zero, none, high, none);
    v = pad(to, v, zero, none, high, none);
  }
  const int64_t turns = kSweeps * std::max<int64_t>(1, a.shape()[2] - 1);
  const Values done =
      repeat(to, turns, {a, v}, [&](const Value&, std::span<const Value> m) -> Values {
        const auto [upper, lower] = halves(to, m[0], 2);
        const auto product = [&](const Value& p, const Value& q) {
          return sum_columns(to, multiply(to, p, q));
        };
        const auto [c, s] =
            rotations(to, product(upper, upper), product(lower, lower), product(upper, lower));
        return {next_round(to, rotated(to, m[0], c, s, 2), 2),
                next_round(to, rotated(to, m[1], c, s, 2), 2)};
      });
  const Value norms = unary(to, "sqrt", sum_columns(to, multiply(to, done[0], done[0])));
  // The added column has a norm of 0 and isn't part of any vector: it goes last.
  const Value lengths = sum_columns(to, multiply(to, done[1], done[1]));
  const Value real = compare(to, "GT", lengths, like(to, 0.5, lengths));
  const Value keys = select(to, real, norms, like(to, -1, norms));
  const Sorted products = sorted_columns(to, keys, done[0], true);
  const Sorted vectors = sorted_columns(to, keys, done[1], true);
  return {slice_axis(to, products.keys, 1, 0, columns), slice_axis(to, products.x, 2, 0, columns),
          slice_axis(to, vectors.x, 2, 0, columns)};
}

Values lower_svd(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  if (in[0].shape().num_elements() == 0) {
    return {eye_of(to, spec.outputs[0]), splat(to, 0, spec.outputs[1]),
            eye_of(to, spec.outputs[2])};
  }
  const Value given = batch_of(to, in[0]);
  const bool wide = given.shape()[2] > given.shape()[1];
  const Value x = wide ? transpose(to, given, Ints{0, 2, 1}) : given;
  const Rotated parts = one_sided(to, x);
  const Value values = out_of_batch(to, parts.values, spec.outputs[1]);
  if (!spec.attributes.get_bool("vectors")) {
    return {splat(to, 0, spec.outputs[0]), values, splat(to, 0, spec.outputs[2])};
  }
  // Columns of length 0 and those beyond the values are made orthogonal to the others.
  const auto [q, r] = householder(to, parts.products);
  const int64_t columns = x.shape()[2];
  const Value corner = diagonal(to, slice_axis(to, r, 1, 0, columns));
  const Value is_negative = compare(to, "LT", corner, like(to, 0, corner));
  const Value signs = select(to, is_negative, like(to, -1, corner), like(to, 1, corner));
  const Value basis = slice_axis(to, q, 2, 0, columns);
  Value left = multiply(to, basis, per_column(to, signs, basis.shape()));
  const int64_t rows = x.shape()[1];
  if (spec.attributes.get_bool("full") && rows > columns) {
    left = joined(to, left, slice_axis(to, q, 2, columns, rows), 2);
  }
  const Value& u = wide ? parts.vectors : left;
  const Value& v = wide ? left : parts.vectors;
  return {out_of_batch(to, u, spec.outputs[0]), values,
          out_of_batch(to, transpose(to, v, Ints{0, 2, 1}), spec.outputs[2])};
}

}  // namespace

void register_spectral(LoweringTable& table) {
  table.add("eigh", lower_eigh);
  table.add("svd", lower_svd);
}

}  // namespace cornu::xla
