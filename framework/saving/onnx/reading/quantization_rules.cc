// SPDX-License-Identifier: Apache-2.0
// Integers that stand for numbers: (integer - zero point) * scale. Products of integers are int32.

#include "framework/core/allocation_limit.h"
#include "framework/core/checked.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"
#include "framework/saving/onnx/reading/windows.h"

namespace cornu::onnx::reading {
namespace {

// Scales or zero points such that they broadcast with x: a single one, one for each place along an
// axis, or one for each block of places there.
Tensor spread(NodeReader& n, const Tensor& given, const Tensor& x) {
  if (given.num_elements() == 1) return ops::reshape(given, Shape());
  const int64_t axis = n.axis(n.integer("axis", 1), x.rank());
  if (given.rank() == 1) return ops::reshape(given, along(axis, x.rank()));
  const int64_t block = n.integer("block_size", 0), size = x.dim(axis);
  check<InvalidArgument>(given.rank() == x.rank() && block > 0,
                         "expected scales for all elements, for an axis or for its blocks, got {} "
                         "for {} and a block_size of {}.",
                         given.shape(), x.shape(), block);
  if (size == kUnknown) n.refuse("its blocks are along an axis of unknown size");
  check<InvalidArgument>((Checked(given.dim(axis), "blocks") * block).value() >= size,
                         "expected blocks of {} for {} places, got {}.", block, size,
                         given.dim(axis));
  AllocationLimit::check_bytes(static_cast<size_t>(size) * sizeof(int64_t));
  Ints places;
  for (int64_t i = 0; i < size; ++i) places.push_back(i / block);
  return ops::take(given, Tensor::from(places), axis);
}

// The nearest integers of this dtype to numbers that are whole.
Tensor saturated(NodeReader& n, const Tensor& x, DType dtype) {
  if (dtype != DType::Int8 && dtype != DType::UInt8) {
    n.refuse(fmt::format("it makes {}; int8 and uint8 are read", dtype));
  }
  const bool is_signed = dtype == DType::Int8;
  const Tensor limited = ops::clip(x, ops::cast(is_signed ? -128 : 0, x.dtype()),
                                   ops::cast(is_signed ? 127 : 255, x.dtype()));
  return ops::cast(limited, dtype);
}

std::optional<DType> output_dtype(NodeReader& n) {
  const int64_t type = n.integer("output_dtype", 0);
  if (type == 0) return {};
  const std::optional<DType> dtype = dtype_of_type(type);
  if (!dtype) n.refuse(fmt::format("it makes ONNX's data type {}, which Cornu doesn't have", type));
  return dtype;
}

void read_quantize_linear(NodeReader& n) {
  const Tensor x = n.in(0), scale = n.in(1), zero = n.optional(2);
  const DType dtype = zero.defined() ? zero.dtype() : output_dtype(n).value_or(DType::UInt8);
  Tensor y = ops::round(ops::divide(ops::cast(x, scale.dtype()), spread(n, scale, x)));
  if (zero.defined()) y = ops::add(y, ops::cast(spread(n, zero, x), y.dtype()));
  n.give(saturated(n, y, dtype));
}

void read_dequantize_linear(NodeReader& n) {
  const Tensor x = n.in(0), scale = n.in(1), zero = n.optional(2);
  Tensor y = ops::cast(x, scale.dtype());
  if (zero.defined()) y = ops::subtract(y, ops::cast(spread(n, zero, x), scale.dtype()));
  y = ops::multiply(y, spread(n, scale, x));
  n.give(ops::cast(y, output_dtype(n).value_or(scale.dtype())));
}

// Chooses scale and zero point such that uint8 reaches from the least to the largest element and
// includes 0.
void read_dynamic_quantize_linear(NodeReader& n) {
  const Tensor x = n.in();
  const Tensor least = ops::minimum(ops::min(x), 0), most = ops::maximum(ops::max(x), 0);
  const Tensor range = ops::divide(ops::subtract(most, least), 255);
  const Tensor scale = ops::where(ops::equal(range, 0), ops::ones_like(range), range);
  const Tensor zero = ops::round(ops::clip(ops::divide(ops::negative(least), scale), 0, 255));
  const Tensor y = saturated(n, ops::add(ops::round(ops::divide(x, scale)), zero), DType::UInt8);
  n.give_all({y, scale, ops::cast(zero, DType::UInt8)});
}

// Integers without their zero point; `shape` is that of zero points which aren't a single one.
Tensor centered(const Tensor& x, const Tensor& zero, const Shape& shape) {
  const Tensor wide = ops::cast(x, DType::Int32);
  if (!zero.defined()) return wide;
  const bool one = zero.num_elements() == 1;
  const bool fits = one || zero.rank() != 1;
  const Tensor spread = fits && !one ? zero : ops::reshape(zero, one ? Shape() : shape);
  return ops::subtract(wide, ops::cast(spread, DType::Int32));
}

// One zero point for each row of x and each column of y, or one for all.
Tensor product_of_integers(NodeReader& n, const Tensor& x, const Tensor& x_zero, const Tensor& y,
                           const Tensor& y_zero) {
  const bool narrow = x.dtype() == DType::Int8 && y.dtype() == DType::Int8;
  if (narrow && !x_zero.defined() && !y_zero.defined()) return multiplied(n, x, y);
  return multiplied(n, centered(x, x_zero, {kUnknown, 1}), centered(y, y_zero, {kUnknown}));
}

void read_matmul_integer(NodeReader& n) {
  n.give(product_of_integers(n, n.in(0), n.optional(2), n.in(1), n.optional(3)));
}

// One zero point for each filter, or one for all.
Tensor convolution_of_integers(NodeReader& n, const Tensor& x, const Tensor& x_zero,
                               const Tensor& filters, const Tensor& zero) {
  n.refuse_constants();
  check<InvalidArgument>(filters.rank() == x.rank() && x.rank() >= 3,
                         "expected an input (batch, channels, spatial…) and filters of as many "
                         "axes, got {} and {}.",
                         x.shape(), filters.shape());
  const Windows w = windows_of(n, x, filters.shape().slice(2).dims(), false);
  const Tensor padded = ops::pad(centered(x, x_zero, {}), widths_of(w));
  const Tensor kernel = spatial_first(centered(filters, zero, along(0, filters.rank())), {1, 0});
  check<InvalidArgument>(x.dim(1) == Checked(filters.dim(1), "channels") * n.integer("group", 1),
                         "expected filters for {} channels in {} groups, got {}.", x.dim(1),
                         n.integer("group", 1), filters.shape());
  const Tensor rows = ops::moveaxis(padded, 1, -1);
  if (n.integer("group", 1) > 1) {  // which Keras's op doesn't have
    const Tensor y = ops::conv(rows, kernel, {.strides = w.strides, .dilation_rate = w.dilations});
    return ops::moveaxis(y, -1, 1);
  }
  const Json config = Json::object({{"strides", w.strides},
                                    {"padding", "valid"},
                                    {"data_format", "channels_last"},
                                    {"dilation_rate", w.dilations}});
  // Keras on TensorFlow convolves no integers, and channels last only; these sums are exact.
  const auto exact = [](const Tensor& x) { return ops::cast(x, DType::Float64); };
  const Tensor y =
      ops::moveaxis(n.keras_op("Conv", config, {exact(rows), exact(kernel)}).single(), -1, 1);
  return ops::cast(y, DType::Int32);
}

void read_conv_integer(NodeReader& n) {
  n.give(convolution_of_integers(n, n.in(0), n.optional(2), n.in(1), n.optional(3)));
}

// Int32 in the scale of the result, whose zero point is input `zero`.
Tensor requantized(NodeReader& n, const Tensor& sum, const Tensor& scale, size_t zero) {
  const Tensor scaled = ops::round(ops::multiply(ops::cast(sum, DType::Float32), scale));
  const Tensor zero_point = ops::reshape(n.in(zero), Shape());
  return saturated(n, ops::add(scaled, ops::cast(zero_point, DType::Float32)), zero_point.dtype());
}

Tensor one_scale(NodeReader& n, size_t i) {
  return ops::cast(ops::reshape(n.in(i), Shape()), DType::Float32);
}

void read_qlinear_matmul(NodeReader& n) {
  const Tensor sum = product_of_integers(n, n.in(0), n.in(2), n.in(3), n.in(5));
  const auto scales = [&](size_t i, const Shape& shape) {
    const Tensor given = ops::cast(n.in(i), DType::Float32);
    return given.num_elements() == 1 ? ops::reshape(given, Shape())
           : given.rank() == 1       ? ops::reshape(given, shape)
                                     : given;
  };
  const Tensor both = ops::multiply(scales(1, {kUnknown, 1}), scales(4, {kUnknown}));
  n.give(requantized(n, sum, ops::divide(both, one_scale(n, 6)), 7));
}

void read_qlinear_conv(NodeReader& n) {
  const Tensor x = n.in(0), filters = n.in(3);
  Tensor sum = convolution_of_integers(n, x, n.in(2), filters, n.in(5));
  const auto for_filters = [&](const Tensor& given) {
    return given.num_elements() == 1 ? ops::reshape(given, Shape())
                                     : ops::reshape(given, along(1, x.rank()));
  };
  if (n.has(8)) sum = ops::add(sum, for_filters(n.in(8)));
  const Tensor both = ops::multiply(one_scale(n, 1), for_filters(n.in(4)));
  n.give(requantized(n, sum, ops::divide(both, one_scale(n, 6)), 7));
}

const Rule kRulesOfQuantization[] = {
    {"ConvInteger", read_conv_integer},
    {"DequantizeLinear", read_dequantize_linear},
    {"DynamicQuantizeLinear", read_dynamic_quantize_linear},
    {"MatMulInteger", read_matmul_integer},
    {"QLinearConv", read_qlinear_conv},
    {"QLinearMatMul", read_qlinear_matmul},
    {"QuantizeLinear", read_quantize_linear},
};

}  // namespace

std::span<const Rule> quantization_rules() { return kRulesOfQuantization; }

}  // namespace cornu::onnx::reading
