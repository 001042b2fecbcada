// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/lower/matrices.h"

#include <algorithm>

namespace cornu::xla {
namespace {

using Ints = std::vector<int64_t>;

Value zero_of(Writer& to, const Value& x) { return splat(to, 0, {x.dtype(), {}}); }

// Selects the value at a number along an axis by a mask: infinities elsewhere don't matter.
Value picked(Writer& to, const Value& x, const Value& numbers, const Value& index, int64_t axis) {
  const Value here = compare(to, "EQ", numbers, spread(to, index, numbers.shape()));
  return reduce(to, "add", select(to, here, x, like(to, 0, x)), zero_of(to, x), Ints{axis});
}

}  // namespace

Value batch_of(Writer& to, const Value& x) {
  const Value wide = is_half(x.dtype()) ? convert(to, x, DType::Float32) : x;
  const int64_t rank = x.rank();
  const int64_t count = x.shape().slice(0, rank - 2).num_elements();
  return reshape(to, wide, {count, x.shape()[rank - 2], x.shape()[rank - 1]});
}

Value out_of_batch(Writer& to, const Value& x, const TensorType& type) {
  return reshape(to, convert(to, x, type.dtype), type.shape);
}

Value row_numbers(Writer& to, const Value& x) { return iota(to, {DType::Int64, x.shape()}, 1); }
Value column_numbers(Writer& to, const Value& x) { return iota(to, {DType::Int64, x.shape()}, 2); }

Value per_row(Writer& to, const Value& vector, const Shape& shape) {
  return broadcast_in(to, vector, shape, Ints{0, 1});
}
Value per_column(Writer& to, const Value& vector, const Shape& shape) {
  return broadcast_in(to, vector, shape, Ints{0, 2});
}
Value sum_rows(Writer& to, const Value& x) { return reduce(to, "add", x, zero_of(to, x), Ints{2}); }
Value sum_columns(Writer& to, const Value& x) {
  return reduce(to, "add", x, zero_of(to, x), Ints{1});
}
Value row_at(Writer& to, const Value& x, const Value& index) {
  return picked(to, x, row_numbers(to, x), index, 1);
}
Value column_at(Writer& to, const Value& x, const Value& index) {
  return picked(to, x, column_numbers(to, x), index, 2);
}

Value diagonal(Writer& to, const Value& x) {
  const Value here = compare(to, "EQ", row_numbers(to, x), column_numbers(to, x));
  return sum_rows(to, select(to, here, x, like(to, 0, x)));
}

Value eye_of(Writer& to, const TensorType& type) {
  const TensorType numbers{DType::Int64, type.shape};
  const int64_t rank = type.shape.rank();
  return convert(to, compare(to, "EQ", iota(to, numbers, rank - 2), iota(to, numbers, rank - 1)),
                 type.dtype);
}

Values repeat(Writer& to, int64_t turns, const Values& initial,
              FunctionRef<Values(const Value& turn, std::span<const Value> values)> body) {
  Values all = {splat_int(to, 0, {DType::Int64, {}})};
  all.insert(all.end(), initial.begin(), initial.end());
  const auto goes_on = [&](std::span<const Value> v) {
    return compare(to, "LT", v[0], splat_int(to, turns, v[0].type));
  };
  const auto turn = [&](std::span<const Value> v) -> Values {
    Values next = {add(to, v[0], splat_int(to, 1, v[0].type))};
    const Values results = body(v[0], v.subspan(1));
    next.insert(next.end(), results.begin(), results.end());
    return next;
  };
  const Values results = while_loop(to, all, goes_on, turn);
  return {results.begin() + 1, results.end()};
}

// Each iteration reflects a column onto its first element, for the remaining rows.
std::pair<Value, Value> householder(Writer& to, const Value& x) {
  const int64_t count = x.shape()[0];
  const int64_t rows = x.shape()[1];
  const int64_t turns = std::min(rows, x.shape()[2]);
  const Value start = eye_of(to, {x.dtype(), {count, rows, rows}});
  const Values done =
      repeat(to, turns, {x, start}, [&](const Value& turn, std::span<const Value> v) -> Values {
        const Value& r = v[0];
        const Value& q = v[1];
        const TensorType vectors{DType::Int64, {count, rows}};
        const Value numbers = iota(to, vectors, 1);
        const Value here = spread(to, turn, vectors.shape);
        const Value whole = column_at(to, r, turn);
        const Value left = select(to, compare(to, "GE", numbers, here), whole, like(to, 0, whole));
        const Value is_first = compare(to, "EQ", numbers, here);
        const auto total = [&](const Value& y) {
          return reduce(to, "add", y, zero_of(to, y), Ints{1});
        };
        const Value first = total(select(to, is_first, left, like(to, 0, left)));
        const Value norm = unary(to, "sqrt", total(multiply(to, left, left)));
        const Value is_negative = compare(to, "LT", first, like(to, 0, first));
        const Value target = select(to, is_negative, norm, unary(to, "negate", norm));
        const Value moved = select(to, is_first, broadcast_in(to, target, left.shape(), Ints{0}),
                                   like(to, 0, left));
        const Value mirror = subtract(to, left, moved);
        const Value squares = total(multiply(to, mirror, mirror));
        const Value none = compare(to, "EQ", squares, like(to, 0, squares));
        const Value factor = select(
            to, none, like(to, 0, squares),
            divide(to, like(to, 2, squares), select(to, none, like(to, 1, squares), squares)));
        const Value scaled =
            multiply(to, mirror, broadcast_in(to, factor, mirror.shape(), Ints{0}));
        const Value along = sum_columns(to, multiply(to, r, per_row(to, mirror, r.shape())));
        const Value next_r = subtract(
            to, r, multiply(to, per_row(to, scaled, r.shape()), per_column(to, along, r.shape())));
        const Value across = sum_rows(to, multiply(to, q, per_column(to, mirror, q.shape())));
        const Value next_q = subtract(
            to, q, multiply(to, per_row(to, across, q.shape()), per_column(to, scaled, q.shape())));
        return {next_r, next_q};
      });
  const Value& r = done[0];
  const Value below = compare(to, "GT", row_numbers(to, r), column_numbers(to, r));
  return {done[1], select(to, below, like(to, 0, r), r)};
}

}  // namespace cornu::xla
