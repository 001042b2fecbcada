// SPDX-License-Identifier: Apache-2.0
// Implements the ops of writer.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/backends/xla/writer.h"
#include "framework/core/error.h"
#include "framework/graph/execution_config.h"

namespace cornu::xla {
namespace {

std::string hlo(std::string_view op) { return "stablehlo." + std::string(op); }

// A float in MLIR's syntax.
std::string float_text(double number, DType dtype) {
  if (std::isfinite(number)) return fmt::format("{:#}", number);
  const int sign = std::signbit(number) ? 1 : 0;
  const bool nan = std::isnan(number);
  switch (dtype) {
    case DType::Float16:
      return nan ? "0x7E00" : sign ? "0xFC00" : "0x7C00";
    case DType::BFloat16:
      return nan ? "0x7FC0" : sign ? "0xFF80" : "0x7F80";
    case DType::Float32:
      return nan ? "0x7FC00000" : sign ? "0xFF800000" : "0x7F800000";
    default:
      return nan ? "0x7FF8000000000000" : sign ? "0xFFF0000000000000" : "0x7FF0000000000000";
  }
}

Value dense(Writer& to, const std::string& text, const TensorType& type) {
  return to.op("stablehlo.constant", std::span<const Value>(), type,
               fmt::format("value = dense<{}> : {}", text, type_text(type)));
}

std::vector<int64_t> all_axes(int64_t rank, int64_t first = 0) {
  std::vector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

// The bounds of an integer type.
std::pair<int64_t, uint64_t> bounds(DType dtype) {
  const auto bits = static_cast<int>(8 * size_of(dtype));
  if (is_signed(dtype)) {
    const uint64_t highest = ~uint64_t{0} >> (65 - bits);
    return {-static_cast<int64_t>(highest) - 1, highest};
  }
  return {0, ~uint64_t{0} >> (64 - bits)};
}

Shape sliced_shape(std::span<const int64_t> begin, std::span<const int64_t> end,
                   std::span<const int64_t> strides) {
  Shape shape;
  for (size_t i = 0; i < begin.size(); ++i) {
    shape.push_back(std::max<int64_t>(0, (end[i] - begin[i] + strides[i] - 1) / strides[i]));
  }
  return shape;
}

}  // namespace

Value unary(Writer& to, std::string_view op, const Value& x) { return to.op(hlo(op), {x}, x.type); }

Value binary(Writer& to, std::string_view op, const Value& a, const Value& b) {
  return to.op(hlo(op), {a, b}, a.type);
}

Value compare(Writer& to, std::string_view direction, const Value& a, const Value& b) {
  const std::string_view type = is_floating(a.dtype()) ? "FLOAT"
                                : is_signed(a.dtype()) ? "SIGNED"
                                                       : "UNSIGNED";
  return to.op("stablehlo.compare", {a, b}, {DType::Bool, a.shape()},
               fmt::format("comparison_direction = #stablehlo<comparison_direction {}>, "
                           "compare_type = #stablehlo<comparison_type {}>",
                           direction, type));
}

Value select(Writer& to, const Value& condition, const Value& a, const Value& b) {
  return to.op("stablehlo.select", {condition, a, b}, a.type);
}

Value splat(Writer& to, double number, const TensorType& type) {
  if (type.dtype == DType::Bool) return dense(to, number != 0 ? "true" : "false", type);
  if (is_floating(type.dtype)) return dense(to, float_text(number, type.dtype), type);
  return splat_int(to, static_cast<int64_t>(number), type);
}

Value splat_int(Writer& to, int64_t number, const TensorType& type) {
  if (is_floating(type.dtype)) return splat(to, static_cast<double>(number), type);
  if (type.dtype == DType::UInt64) {
    return dense(to, fmt::to_string(static_cast<uint64_t>(number)), type);
  }
  return dense(to, fmt::to_string(number), type);
}

Value extreme(Writer& to, bool highest, const TensorType& type) {
  if (type.dtype == DType::Bool) return splat(to, highest ? 1 : 0, type);
  if (is_floating(type.dtype)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return splat(to, highest ? kInfinity : -kInfinity, type);
  }
  const auto [low, high] = bounds(type.dtype);
  return splat_int(to, highest ? static_cast<int64_t>(high) : low, type);
}

Value constant(Writer& to, const Tensor& value) {
  const TensorType type = type_of(value);
  const Tensor host = value.host();
  const auto* bytes = reinterpret_cast<const unsigned char*>(host.raw());
  const auto count = static_cast<size_t>(host.num_elements());
  if (count == 0) return dense(to, "", type);
  if (type.dtype == DType::Bool) {
    if (std::all_of(bytes, bytes + count, [&](unsigned char b) { return b == *bytes; })) {
      return splat(to, *bytes, type);
    }
    const Value numbers =
        constant(to, Tensor::wrap(static_cast<const void*>(bytes), host.shape(), DType::UInt8));
    return compare(to, "NE", numbers, splat_int(to, 0, numbers.type));
  }
  std::string text = "\"0x";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  text.reserve(2 * type.bytes() + 4);
  for (size_t i = 0; i < type.bytes(); ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return dense(to, text + "\"", type);
}

Value convert(Writer& to, const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return to.op("stablehlo.convert", {x}, {dtype, x.shape()});
}

Value cast(Writer& to, const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (dtype == DType::Bool) return compare(to, "NE", x, like(to, 0, x));
  if (!is_floating(x.dtype()) || !is_integer(dtype)) return convert(to, x, dtype);
  // Out of range of the integer type: the nearest one; NaN: 0.
  const Value wide = is_half(x.dtype()) ? convert(to, x, DType::Float32) : x;
  const TensorType type{dtype, x.shape()};
  const auto [low, high] = bounds(dtype);
  const Value too_high = compare(to, "GE", wide, like(to, static_cast<double>(high), wide));
  const Value too_low = compare(to, "LE", wide, like(to, static_cast<double>(low), wide));
  const Value is_nan = compare(to, "NE", wide, wide);
  const Value inside =
      select(to, either(to, either(to, too_high, too_low), is_nan), like(to, 0, wide), wide);
  const Value number = convert(to, inside, dtype);
  return select(to, too_high, extreme(to, true, type),
                select(to, too_low, extreme(to, false, type), number));
}

Value bitcast(Writer& to, const Value& x, const TensorType& type) {
  return to.op("stablehlo.bitcast_convert", {x}, type);
}

Value iota(Writer& to, const TensorType& type, int64_t axis) {
  return to.op("stablehlo.iota", std::span<const Value>(), type,
               fmt::format("iota_dimension = {} : i64", axis));
}

Value reshape(Writer& to, const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return to.op("stablehlo.reshape", {x}, {x.dtype(), shape});
}

Value transpose(Writer& to, const Value& x, std::span<const int64_t> permutation) {
  Shape shape;
  for (const int64_t axis : permutation) shape.push_back(x.shape()[axis]);
  return to.op("stablehlo.transpose", {x}, {x.dtype(), shape},
               "permutation = " + array_text(permutation));
}

Value broadcast_in(Writer& to, const Value& x, const Shape& shape, std::span<const int64_t> axes) {
  return to.op("stablehlo.broadcast_in_dim", {x}, {x.dtype(), shape},
               "broadcast_dimensions = " + array_text(axes));
}

Value spread(Writer& to, const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return broadcast_in(to, x, shape, all_axes(shape.rank(), shape.rank() - x.rank()));
}

Value slice(Writer& to, const Value& x, std::span<const int64_t> begin,
            std::span<const int64_t> end, std::span<const int64_t> strides) {
  const Shape shape = sliced_shape(begin, end, strides);
  return to.op("stablehlo.slice", {x}, {x.dtype(), shape},
               fmt::format("start_indices = {}, limit_indices = {}, strides = {}",
                           array_text(begin), array_text(end), array_text(strides)));
}

Value slice_axis(Writer& to, const Value& x, int64_t axis, int64_t begin, int64_t end) {
  if (begin == 0 && end == x.shape()[axis]) return x;
  std::vector<int64_t> from(static_cast<size_t>(x.rank()), 0);
  std::vector<int64_t> until = x.shape().dims();
  const std::vector<int64_t> strides(from.size(), 1);
  from[static_cast<size_t>(axis)] = begin;
  until[static_cast<size_t>(axis)] = end;
  return slice(to, x, from, until, strides);
}

Value pad(Writer& to, const Value& x, const Value& value, std::span<const int64_t> low,
          std::span<const int64_t> high, std::span<const int64_t> interior) {
  Shape shape;
  for (size_t i = 0; i < low.size(); ++i) {
    const int64_t size = x.shape()[static_cast<int64_t>(i)];
    shape.push_back(low[i] + size + std::max<int64_t>(0, size - 1) * interior[i] + high[i]);
  }
  return to.op("stablehlo.pad", {x, value}, {x.dtype(), shape},
               fmt::format("edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
                           array_text(low), array_text(high), array_text(interior)));
}

Value concatenate(Writer& to, std::span<const Value> xs, int64_t axis) {
  if (xs.size() == 1) return xs.front();
  Shape shape = xs.front().shape();
  for (const Value& x : xs.subspan(1)) shape[axis] += x.shape()[axis];
  return to.op("stablehlo.concatenate", xs, {xs.front().dtype(), shape},
               fmt::format("dimension = {} : i64", axis));
}

Value reverse(Writer& to, const Value& x, std::span<const int64_t> axes) {
  return to.op("stablehlo.reverse", {x}, x.type, "dimensions = " + array_text(axes));
}

Value row(Writer& to, const Value& x, const Value& index) {
  Values operands = {x, index};
  for (int64_t axis = 1; axis < x.rank(); ++axis) {
    operands.push_back(splat_int(to, 0, {index.dtype(), {}}));
  }
  Shape shape = x.shape();
  shape[0] = 1;
  const Value cut = to.op("stablehlo.dynamic_slice", operands, {x.dtype(), shape},
                          "slice_sizes = " + array_text(shape.dims()));
  return reshape(to, cut, x.shape().slice(1));
}

Value with_row(Writer& to, const Value& x, const Value& row, const Value& index) {
  Values operands = {x, reshape(to, row, Shape{1}.concat(row.shape())), index};
  for (int64_t axis = 1; axis < x.rank(); ++axis) {
    operands.push_back(splat_int(to, 0, {index.dtype(), {}}));
  }
  return to.op("stablehlo.dynamic_update_slice", operands, x.type);
}

Value reduce(Writer& to, std::string_view op, const Value& x, const Value& initial,
             std::span<const int64_t> axes) {
  Shape shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) shape.push_back(x.shape()[axis]);
  }
  return to.op("stablehlo.reduce", {x, initial}, {x.dtype(), shape},
               "dimensions = " + array_text(axes), to.reducer(op, x.dtype()));
}

std::string precision_text(DType dtype) {
  const bool exact = dtype == DType::Float32 && !config::tensor_float_32_execution_enabled();
  return fmt::format("precision_config = [#stablehlo<precision {0}>, #stablehlo<precision {0}>]",
                     exact ? "HIGHEST" : "DEFAULT");
}

Value dot(Writer& to, const Value& a, const Value& b, const DotAxes& axes, DType result) {
  Shape shape;
  for (const int64_t axis : axes.batch_a) shape.push_back(a.shape()[axis]);
  const auto add_free = [&](const Value& x, const std::vector<int64_t>& batch,
                            const std::vector<int64_t>& sum) {
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      const auto is_in = [&](const std::vector<int64_t>& list) {
        return std::find(list.begin(), list.end(), axis) != list.end();
      };
      if (!is_in(batch) && !is_in(sum)) shape.push_back(x.shape()[axis]);
    }
  };
  add_free(a, axes.batch_a, axes.sum_a);
  add_free(b, axes.batch_b, axes.sum_b);
  const auto list = [](const std::vector<int64_t>& numbers) {
    return fmt::format("[{}]", fmt::join(numbers, ", "));
  };
  return to.op("stablehlo.dot_general", {a, b}, {result, shape},
               fmt::format("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, "
                           "rhs_batching_dimensions = {}, lhs_contracting_dimensions = {}, "
                           "rhs_contracting_dimensions = {}>, {}",
                           list(axes.batch_a), list(axes.batch_b), list(axes.sum_a),
                           list(axes.sum_b), precision_text(a.dtype())));
}

Values while_loop(Writer& to, const Values& initial,
                  FunctionRef<Value(std::span<const Value>)> condition,
                  FunctionRef<Values(std::span<const Value>)> body) {
  std::vector<TensorType> types;
  for (const Value& value : initial) types.push_back(value.type);
  const std::string test = to.region(
      types, [&](std::span<const Value> values) -> Values { return {condition(values)}; });
  const std::string step = to.region(types, body);
  return to.ops("stablehlo.while", initial, types, {}, test + ", " + step);
}

}  // namespace cornu::xla
