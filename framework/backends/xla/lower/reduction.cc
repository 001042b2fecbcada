// SPDX-License-Identifier: Apache-2.0
// Reductions, and ordered operations along an axis.
#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

// Reduces, then reshapes to the op's shape (keepdims). 16-bit floats are summed in float32.
Lower reduction(std::string op, double initial) {
  return [op = std::move(op), initial](const KernelSpec& spec, std::span<const Value> in,
                                       Writer& to) -> Values {
    const DType dtype = in[0].dtype();
    const Value wide = is_half(dtype) ? convert(to, in[0], DType::Float32) : in[0];
    const Value from = splat(to, initial, {wide.dtype(), {}});
    const Value sum = reduce(to, op, wide, from, spec.attributes.get_ints("axes"));
    return {reshape(to, convert(to, sum, dtype), spec.outputs[0].shape)};
  };
}

Lower extreme_reduction(bool largest) {
  return [largest](const KernelSpec& spec, std::span<const Value> in, Writer& to) -> Values {
    const DType dtype = in[0].dtype();
    const std::string_view op = dtype == DType::Bool ? (largest ? "or" : "and")
                                : largest            ? "maximum"
                                                     : "minimum";
    const Value from = extreme(to, !largest, {dtype, {}});
    const Value result = reduce(to, op, in[0], from, spec.attributes.get_ints("axes"));
    return {reshape(to, result, spec.outputs[0].shape)};
  };
}

// The first of the largest elements; NaN is both the largest and the smallest.
Lower arg_extreme(bool largest) {
  return [largest](const KernelSpec& spec, std::span<const Value> in, Writer& to) -> Values {
    const int64_t axes[] = {spec.attributes.get_int("axis")};
    Value x = in[0];
    if (x.dtype() == DType::Bool) x = convert(to, x, DType::Int32);
    const Value best = reduce(to, largest ? "maximum" : "minimum", x,
                              extreme(to, !largest, {x.dtype(), {}}), axes);
    std::vector<int64_t> kept;
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (axis != axes[0]) kept.push_back(axis);
    }
    const Value wanted = broadcast_in(to, best, x.shape(), kept);
    Value found = compare(to, "EQ", x, wanted);
    if (is_floating(x.dtype())) found = either(to, found, compare(to, "NE", x, x));
    const TensorType places{DType::Int32, x.shape()};
    const int64_t length = x.shape()[axes[0]];
    const Value place = select(to, found, iota(to, places, axes[0]), splat_int(to, length, places));
    return {reduce(to, "minimum", place, splat_int(to, length, {DType::Int32, {}}), axes)};
  };
}

// A sum over a window that ends at each element.
Values lower_cumsum(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const int64_t axis = spec.attributes.get_int("axis");
  const bool reverse = spec.attributes.get_bool("reverse");
  const DType dtype = in[0].dtype();
  const Value x = is_half(dtype) ? convert(to, in[0], DType::Float32) : in[0];
  const int64_t length = x.shape()[axis];
  if (x.shape().num_elements() == 0) return {in[0]};
  std::vector<int64_t> window(static_cast<size_t>(x.rank()), 1);
  std::vector<int64_t> padding(2 * window.size(), 0);
  window[static_cast<size_t>(axis)] = length;
  const size_t low = 2 * static_cast<size_t>(axis) + (reverse ? 1 : 0);
  padding[low] = length - 1;
  const TensorType scalar{x.dtype(), {}};
  Value sum = to.op(
      "stablehlo.reduce_window", {x, splat(to, 0, scalar)}, x.type,
      fmt::format("window_dimensions = {}, padding = {}", array_text(window), pairs_text(padding)),
      to.reducer("add", x.dtype()));
  if (spec.attributes.get_bool("exclusive")) {  // shifted by one
    std::vector<int64_t> before(window.size(), 0);
    std::vector<int64_t> after(window.size(), 0);
    const std::vector<int64_t> none(window.size(), 0);
    (reverse ? after : before)[static_cast<size_t>(axis)] = 1;
    const Value cut =
        reverse ? slice_axis(to, sum, axis, 1, length) : slice_axis(to, sum, axis, 0, length - 1);
    sum = pad(to, cut, splat(to, 0, scalar), before, after, none);
  }
  return {convert(to, sum, dtype)};
}

// Sorts positions by their keys; NaN is the largest.
Values lower_argsort(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const int64_t axis = spec.attributes.get_int("axis");
  const bool descending = spec.attributes.get_bool("descending");
  Value keys = in[0];
  if (keys.dtype() == DType::Bool) keys = convert(to, keys, DType::Int32);
  const TensorType places{DType::Int32, keys.shape()};
  const TensorType key{keys.dtype(), {}};
  const TensorType place{DType::Int32, {}};
  const TensorType arguments[] = {key, key, place, place};
  const std::string order = to.region(arguments, [&](std::span<const Value> v) -> Values {
    const Value& left = v[descending ? 1 : 0];
    const Value& right = v[descending ? 0 : 1];
    const Value before = compare(to, "LT", left, right);
    if (!is_floating(key.dtype)) return {before};
    const Value left_is_number = compare(to, "EQ", left, left);
    const Value right_is_nan = compare(to, "NE", right, right);
    return {either(to, before, both(to, left_is_number, right_is_nan))};
  });
  const Value operands[] = {keys, iota(to, places, axis)};
  const TensorType types[] = {keys.type, places};
  const Value sorted =
      to.ops("stablehlo.sort", operands, types,
             fmt::format("dimension = {} : i64, is_stable = true", axis), order)[1];
  const int64_t wanted = spec.outputs[0].shape[axis];
  return {wanted == keys.shape()[axis] ? sorted : slice_axis(to, sorted, axis, 0, wanted)};
}

}  // namespace

void register_reductions(LoweringTable& table) {
  table.add("reduce_sum", reduction("add", 0));
  table.add("reduce_prod", reduction("multiply", 1));
  table.add("reduce_max", extreme_reduction(true));
  table.add("reduce_min", extreme_reduction(false));
  table.add("argmax", arg_extreme(true));
  table.add("argmin", arg_extreme(false));
  table.add("cumsum", lower_cumsum);
  table.add("argsort", lower_argsort);
}

}  // namespace cornu::xla
