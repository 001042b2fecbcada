// SPDX-License-Identifier: Apache-2.0
// Factorizations and solutions of matrices in the last two axes, with 16-bit floats computed in
// float32.
#include "framework/backends/xla/lower/matrices.h"
#include "framework/core/error.h"

namespace cornu::xla {
namespace {

Value wide_matrix(Writer& to, const Value& x) {
  return is_half(x.dtype()) ? convert(to, x, DType::Float32) : x;
}

// A mask of the diagonal, or also of the elements below it.
Value triangle(Writer& to, const Shape& shape, std::string_view direction) {
  const TensorType places{DType::Int32, shape};
  return compare(to, direction, iota(to, places, shape.rank() - 1),
                 iota(to, places, shape.rank() - 2));
}

// Reports the number of a matrix that has an element of `bad` which is true.
void refuse_matrices(Writer& to, const Value& bad, Refusal fail) {
  const int64_t rank = bad.rank();
  const int64_t axes[] = {rank - 2, rank - 1};
  const Value any = reduce(to, "or", bad, splat(to, 0, {DType::Bool, {}}), axes);
  const int64_t count = any.shape().num_elements();
  to.refuse(reshape(to, any, {count}), iota(to, {DType::Int64, {count}}, 0), std::move(fail));
}

Values lower_cholesky(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.shape.num_elements() == 0) return {in[0]};
  const Value x = wide_matrix(to, in[0]);
  const Value factor = to.op("stablehlo.cholesky", {x}, x.type, "lower = true");
  const Value below = triangle(to, x.shape(), "LE");
  const Value bad = both(to, below, compare(to, "NE", factor, factor));
  refuse_matrices(to, bad, [](int64_t index, int64_t) {
    raise<InvalidArgument>(
        "cholesky: expected symmetric positive definite matrices, but number {} isn't one.", index);
  });
  return {convert(to, select(to, below, factor, like(to, 0, factor)), type.dtype)};
}

Values lower_triangular_solve(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.shape.num_elements() == 0) return {in[1]};
  const Attributes& attributes = spec.attributes;
  const bool unit = attributes.get_bool("unit");
  const Value a = wide_matrix(to, in[0]);
  const Value b = wide_matrix(to, in[1]);
  if (!unit) {
    const Value zero = compare(to, "EQ", a, like(to, 0, a));
    const std::string who =
        attributes.find("who") != nullptr ? attributes.get_string("who") : "solve";
    refuse_matrices(to, both(to, triangle(to, a.shape(), "EQ"), zero),
                    [who](int64_t index, int64_t) {
                      raise<InvalidArgument>(
                          "{}: expected matrices that have an inverse, but number {} has none (its "
                          "triangular factor has a 0 on the diagonal).",
                          who, index);
                    });
  }
  const Value x =
      to.op("stablehlo.triangular_solve", {a, b}, b.type,
            fmt::format("left_side = true, lower = {}, unit_diagonal = {}, transpose_a = "
                        "#stablehlo<transpose {}>",
                        attributes.get_bool("lower"), unit,
                        attributes.get_bool("transpose") ? "TRANSPOSE" : "NO_TRANSPOSE"));
  return {convert(to, x, type.dtype)};
}

// The first of the largest elements of (count, size), by number.
Value largest_place(Writer& to, const Value& x, const Value& numbers) {
  const std::vector<int64_t> axes = {1};
  const Value most = reduce(to, "maximum", x, extreme(to, false, {x.dtype(), {}}), axes);
  const std::vector<int64_t> batch = {0};
  const Value found = compare(to, "EQ", x, broadcast_in(to, most, x.shape(), batch));
  const Value none = extreme(to, true, numbers.type);
  return reduce(to, "minimum", select(to, found, numbers, none),
                splat_int(to, x.shape()[1] - 1, {DType::Int64, {}}), axes);
}

// Column by column, each with the row of its largest remaining element as the pivot: x[rows] = L U.
Values lower_lu(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.shape.num_elements() == 0) return {in[0], splat(to, 0, spec.outputs[1])};
  const Value x = batch_of(to, in[0]);
  const int64_t size = x.shape()[1];
  const TensorType lines{DType::Int64, {x.shape()[0], size}};
  const std::vector<int64_t> batch = {0};
  const Values done = repeat(
      to, size, {x, iota(to, lines, 1)},
      [&](const Value& turn, std::span<const Value> v) -> Values {
        const Value& a = v[0];
        const Value numbers = iota(to, lines, 1);
        const Value here = spread(to, turn, lines.shape);
        const Value column = unary(to, "abs", column_at(to, a, turn));
        const Value left =
            select(to, compare(to, "GE", numbers, here), column, like(to, -1, column));
        const Value pivot = broadcast_in(to, largest_place(to, left, numbers), lines.shape, batch);
        // Rows are swapped by permuting their positions of origin.
        const Value is_turn = compare(to, "EQ", numbers, here);
        const Value is_pivot = compare(to, "EQ", numbers, pivot);
        const auto exchanged_numbers = [&](const Value& w) {
          const auto at = [&](const Value& mask) {
            const std::vector<int64_t> axes = {1};
            const Value one = reduce(to, "add", select(to, mask, w, like(to, 0, w)),
                                     splat(to, 0, {w.dtype(), {}}), axes);
            return broadcast_in(to, one, w.shape(), batch);
          };
          return select(to, is_turn, at(is_pivot), select(to, is_pivot, at(is_turn), w));
        };
        const Value turn_row = row_at(to, a, turn);
        const Value in_pivot = per_row(to, is_pivot, a.shape());
        const Value pivot_row = sum_columns(to, select(to, in_pivot, a, like(to, 0, a)));
        const Value swapped =
            select(to, per_row(to, is_turn, a.shape()), per_column(to, pivot_row, a.shape()),
                   select(to, in_pivot, per_column(to, turn_row, a.shape()), a));
        const Value top = row_at(to, swapped, turn);
        const Value divisor = column_at(to, swapped, turn);
        const Value corner =
            broadcast_in(to,
                         reduce(to, "add", select(to, is_turn, divisor, like(to, 0, divisor)),
                                splat(to, 0, {divisor.dtype(), {}}), std::vector<int64_t>{1}),
                         lines.shape, batch);
        const Value none = compare(to, "EQ", corner, like(to, 0, corner));
        const Value factor = select(
            to, none, divisor, divide(to, divisor, select(to, none, like(to, 1, corner), corner)));
        const Value below = compare(to, "GT", row_numbers(to, a), spread(to, turn, a.shape()));
        const Value right = compare(to, "GT", column_numbers(to, a), spread(to, turn, a.shape()));
        const Value is_column =
            compare(to, "EQ", column_numbers(to, a), spread(to, turn, a.shape()));
        const Value reduced =
            subtract(to, swapped,
                     multiply(to, per_row(to, factor, a.shape()), per_column(to, top, a.shape())));
        const Value next =
            select(to, both(to, below, right), reduced,
                   select(to, both(to, below, is_column), per_row(to, factor, a.shape()), swapped));
        return {next, exchanged_numbers(v[1])};
      });
  const Value rows = convert(to, done[1], DType::Int32);
  return {out_of_batch(to, done[0], type), reshape(to, rows, spec.outputs[1].shape)};
}

Values lower_qr(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  if (in[0].shape().num_elements() == 0) {
    return {eye_of(to, spec.outputs[0]), splat(to, 0, spec.outputs[1])};
  }
  const auto [q, r] = householder(to, batch_of(to, in[0]));
  const int64_t kept = spec.outputs[0].shape.back();
  return {out_of_batch(to, slice_axis(to, q, 2, 0, kept), spec.outputs[0]),
          out_of_batch(to, slice_axis(to, r, 1, 0, kept), spec.outputs[1])};
}

}  // namespace

void register_linalg(LoweringTable& table) {
  table.add("lu", lower_lu);
  table.add("qr", lower_qr);
  register_spectral(table);
  table.add("cholesky", lower_cholesky);
  table.add("triangular_solve", lower_triangular_solve);
}

}  // namespace cornu::xla
