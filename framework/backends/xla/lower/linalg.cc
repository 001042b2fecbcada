// SPDX-License-Identifier: Apache-2.0
// Factorizations and solutions of matrices in the last two axes, in float32 of 16-bit floats.
#include "framework/backends/xla/lowering.h"
#include "framework/core/error.h"

namespace cornu::xla {
namespace {

Value wide_matrix(Writer& to, const Value& x) {
  return is_half(x.dtype()) ? convert(to, x, DType::Float32) : x;
}

// Which elements are on the diagonal, or below it too.
Value triangle(Writer& to, const Shape& shape, std::string_view direction) {
  const TensorType places{DType::Int32, shape};
  return compare(to, direction, iota(to, places, shape.rank() - 1),
                 iota(to, places, shape.rank() - 2));
}

// Refuses the matrices of which one element of `bad` is true, by their number.
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

}  // namespace

void register_linalg(LoweringTable& table) {
  table.add("cholesky", lower_cholesky);
  table.add("triangular_solve", lower_triangular_solve);
}

}  // namespace cornu::xla
