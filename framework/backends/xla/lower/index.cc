// SPDX-License-Identifier: Apache-2.0
// Reading and adding by index, and numbers computed from indices.

#include "framework/backends/xla/lowering.h"
#include "framework/graph/refusals.h"

namespace cornu::xla {
namespace {

// Checks that indices are in [-size, size), and counts negative ones from the end. int64.
Value checked_indices(const KernelSpec& spec, const Value& indices, const Shape& shape,
                      int64_t axis, Writer& to) {
  const int64_t size = shape[axis];
  const Value wide = convert(to, indices, DType::Int64);
  Value bad = compare(to, "GE", wide, splat_int(to, size, wide.type));
  if (is_signed(indices.dtype())) {
    bad = either(to, bad, compare(to, "LT", wide, splat_int(to, -size, wide.type)));
  } else {  // the largest uint64 values become negative
    bad = either(to, bad, compare(to, "LT", wide, like(to, 0, wide)));
  }
  const std::string op = indexing_name(spec);
  const bool is_unsigned = indices.dtype() == DType::UInt64;
  to.refuse(bad, wide, [=](int64_t value, int64_t) {
    const std::string index =
        is_unsigned ? fmt::to_string(static_cast<uint64_t>(value)) : fmt::to_string(value);
    refuse_index(op, index, axis, shape);
  });
  const Value from_end = add(to, wide, splat_int(to, size, wide.type));
  return select(to, compare(to, "LT", wide, like(to, 0, wide)), from_end, wide);
}

// The axes of a result that come from `x`, where those of indices replace `axis`.
std::vector<int64_t> window_axes(int64_t rank, int64_t axis, int64_t index_rank) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axis) axes.push_back(i < axis ? i : i + index_rank - 1);
  }
  return axes;
}

Value take(const Value& x, const Value& indices, int64_t axis, Writer& to) {
  const int64_t rank = x.rank();
  Shape sizes = x.shape();
  sizes[axis] = 1;
  const Shape shape =
      x.shape().slice(0, axis).concat(indices.shape()).concat(x.shape().slice(axis + 1));
  return to.op(
      "stablehlo.gather", {x, indices}, {x.dtype(), shape},
      fmt::format("dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims "
                  "= [{}], start_index_map = [{}], index_vector_dim = {}>, slice_sizes = {}, "
                  "indices_are_sorted = false",
                  fmt::join(window_axes(rank, axis, indices.rank()), ", "), axis, axis,
                  indices.rank(), array_text(sizes.dims())));
}

// `initial`, with updates joined to it in order, by a region that joins two values.
Value scatter(const std::string& joins, const Value& initial, const Value& indices,
              const Value& updates, int64_t axis, Writer& to) {
  return to.op(
      "stablehlo.scatter", {initial, indices, updates}, initial.type,
      fmt::format("scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], "
                  "inserted_window_dims = [{}], scatter_dims_to_operand_dims = [{}], "
                  "index_vector_dim = {}>, indices_are_sorted = false, unique_indices = false",
                  fmt::join(window_axes(initial.rank(), axis, indices.rank()), ", "), axis, axis,
                  indices.rank()),
      joins);
}

// The larger or smaller value; NaN if either is, on which plugins disagree for maximum.
std::string extreme_reducer(bool largest, DType dtype, Writer& to) {
  const TensorType scalar{dtype, {}};
  const TensorType two[] = {scalar, scalar};
  return to.region(two, [&](std::span<const Value> v) -> Values {
    Value first = compare(to, largest ? "GE" : "LE", v[0], v[1]);
    if (is_floating(dtype)) first = either(to, first, compare(to, "NE", v[0], v[0]));
    return {select(to, first, v[0], v[1])};
  });
}

Value scatter_sum(const TensorType& type, const Value& indices, const Value& updates, int64_t axis,
                  Writer& to) {
  if (type.dtype == DType::Bool)
    return scatter(to.reducer("or", type.dtype), splat(to, 0, type), indices, updates, axis, to);
  const DType sum = is_half(type.dtype) ? DType::Float32 : type.dtype;
  const Value zeros = splat(to, 0, {sum, type.shape});
  return convert(
      to, scatter(to.reducer("add", sum), zeros, indices, convert(to, updates, sum), axis, to),
      type.dtype);
}

// Positions in the flattened array for indices along one axis.
Value flat_places(const Value& indices, const Shape& shape, int64_t axis, Writer& to) {
  Value places = splat_int(to, 0, indices.type);
  int64_t stride = 1;
  for (int64_t i = shape.rank() - 1; i >= 0; --i) {
    const Value along = i == axis ? indices : iota(to, indices.type, i);
    places = add(to, places, multiply(to, along, splat_int(to, stride, indices.type)));
    stride *= shape[i];
  }
  return reshape(to, places, {indices.shape().num_elements()});
}

Values lower_gather(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const int64_t axis = spec.attributes.get_int("axis");
  if (spec.outputs[0].shape.num_elements() == 0 && in[1].shape().num_elements() == 0) {
    return {splat(to, 0, spec.outputs[0])};
  }
  const Value indices = checked_indices(spec, in[1], in[0].shape(), axis, to);
  if (in[0].shape().num_elements() == 0) return {splat(to, 0, spec.outputs[0])};
  return {take(in[0], indices, axis, to)};
}

Values lower_take_along(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const int64_t axis = spec.attributes.get_int("axis");
  const Shape& shape = in[0].shape();
  if (in[1].shape().num_elements() == 0) return {splat(to, 0, spec.outputs[0])};
  const Value indices = checked_indices(spec, in[1], shape, axis, to);
  if (shape.num_elements() == 0) return {splat(to, 0, spec.outputs[0])};
  const Value places = flat_places(indices, shape, axis, to);
  const Value flat = reshape(to, in[0], {shape.num_elements()});
  return {reshape(to, take(flat, places, 0, to), in[1].shape())};
}

Values lower_scatter_add(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  const int64_t axis = spec.attributes.get_int("axis");
  const Value indices = checked_indices(spec, in[0], type.shape, axis, to);
  if (in[1].shape().num_elements() == 0) return {splat(to, 0, type)};
  return {scatter_sum(type, indices, in[1], axis, to)};
}

Values lower_put_along(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  const int64_t axis = spec.attributes.get_int("axis");
  const Value indices = checked_indices(spec, in[0], type.shape, axis, to);
  const int64_t updates = in[1].shape().num_elements();
  if (updates == 0) return {splat(to, 0, type)};
  const Value places = flat_places(indices, type.shape, axis, to);
  const TensorType flat{type.dtype, {type.shape.num_elements()}};
  const Value sums = scatter_sum(flat, places, reshape(to, in[1], {updates}), 0, to);
  return {reshape(to, sums, type.shape)};
}

Values lower_one_hot(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  const int64_t last = type.shape.rank() - 1;
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < last; ++axis) axes.push_back(axis);
  const Value indices = broadcast_in(to, convert(to, in[0], DType::Int64), type.shape, axes);
  return {cast(to, compare(to, "EQ", indices, iota(to, indices.type, last)), type.dtype)};
}

Values lower_segment_reduce(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  const std::string& reduction = spec.attributes.get_string("reduction");
  const int64_t count = spec.attributes.get_int("count");
  const Value ids = convert(to, in[0], DType::Int64);
  const Value bad = either(to, compare(to, "LT", ids, like(to, 0, ids)),
                           compare(to, "GE", ids, splat_int(to, count, ids.type)));
  to.refuse(bad, ids, [count](int64_t id, int64_t) { refuse_segment(id, count); });
  const DType wide = is_half(type.dtype) ? DType::Float32 : type.dtype;
  const TensorType result{wide, type.shape};
  const bool is_product = reduction == "prod";
  const Value initial = is_product ? splat(to, 1, result) : extreme(to, reduction == "min", result);
  if (in[1].shape().num_elements() == 0) return {convert(to, initial, type.dtype)};
  const std::string joins =
      is_product ? to.reducer("multiply", wide) : extreme_reducer(reduction == "max", wide, to);
  const Value joined = scatter(joins, initial, ids, convert(to, in[1], wide), 0, to);
  return {convert(to, joined, type.dtype)};
}

}  // namespace

void register_index(LoweringTable& table) {
  table.add("gather", lower_gather);
  table.add("take_along_axis", lower_take_along);
  table.add("scatter_add", lower_scatter_add);
  table.add("put_along_axis_add", lower_put_along);
  table.add("one_hot", lower_one_hot);
  table.add("segment_reduce", lower_segment_reduce);
}

}  // namespace cornu::xla
