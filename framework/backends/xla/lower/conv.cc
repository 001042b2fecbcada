// SPDX-License-Identifier: Apache-2.0
// Convolutions and their gradients, each as a single convolution.
#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

using Ints = std::vector<int64_t>;

// x (batch, in..., channels), filter (taps..., channels / groups, filters), y (batch, out...,
// filters).
struct ConvSizes {
  ConvSizes(const Shape& x, const Shape& filter, const Shape& y, const Attributes& attributes)
      : in(x.slice(1, -1).dims()),
        taps(filter.slice(0, -2).dims()),
        out(y.slice(1, -1).dims()),
        strides(attributes.get_ints("strides")),
        padding(attributes.get_ints("padding")),
        dilation(attributes.get_ints("dilation")),
        groups(attributes.get_int("groups")) {}

  size_t axes() const { return in.size(); }
  // The extent of a window, and the extent of the positions at which windows start.
  int64_t window(size_t i) const { return (taps[i] - 1) * dilation[i] + 1; }
  int64_t spread_out(size_t i) const { return (out[i] - 1) * strides[i] + 1; }

  Ints in;
  Ints taps;
  Ints out;
  Ints strides;
  Ints padding;
  Ints dilation;
  int64_t groups;
};

struct Convolution {
  Ints strides;
  Ints padding;
  Ints lhs_dilation;
  Ints rhs_dilation;
  bool reversed = false;
  std::string_view lhs;  // the axes before and after the spatial ones: "b" and "f"
  std::string_view rhs;
  std::string_view result;
  int64_t feature_groups = 1;
  int64_t batch_groups = 1;
};

// "[b, 0, 1, f]", for "b…f".
std::string axes_text(std::string_view ends, size_t spatial) {
  std::string numbers;
  for (size_t i = 0; i < spatial; ++i) numbers += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  const size_t dots = ends.find('.');
  const std::string_view before = ends.substr(0, dots);
  const std::string_view after = ends.substr(dots + 1);
  std::string text = "[";
  for (const char c : before) text += fmt::format("{}, ", c);
  text += numbers;
  for (const char c : after) text += fmt::format(", {}", c);
  return text + "]";
}

// 16-bit floats are summed in float32.
Value write_conv(const Convolution& conv, const Value& lhs, const Value& rhs,
                 const TensorType& type, Writer& to) {
  const size_t axes = conv.strides.size();
  std::string reversal;
  for (size_t i = 0; i < axes; ++i) {
    reversal += fmt::format("{}{}", i == 0 ? "" : ", ", conv.reversed);
  }
  const std::string attributes = fmt::format(
      "window_strides = {}, padding = {}, lhs_dilation = {}, rhs_dilation = {}, window_reversal = "
      "array<i1: {}>, dimension_numbers = #stablehlo.conv<{}x{}->{}>, feature_group_count = {} : "
      "i64, batch_group_count = {} : i64, {}",
      array_text(conv.strides), pairs_text(conv.padding), array_text(conv.lhs_dilation),
      array_text(conv.rhs_dilation), reversal, axes_text(conv.lhs, axes), axes_text(conv.rhs, axes),
      axes_text(conv.result, axes), conv.feature_groups, conv.batch_groups,
      precision_text(lhs.dtype()));
  const DType sum = is_half(type.dtype) ? DType::Float32 : type.dtype;
  return convert(to, to.op("stablehlo.convolution", {lhs, rhs}, {sum, type.shape}, attributes),
                 type.dtype);
}

Values lower_conv(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.dtype == DType::Bool) return {};
  const ConvSizes sizes(in[0].shape(), in[1].shape(), type.shape, spec.attributes);
  const Convolution conv{.strides = sizes.strides,
                         .padding = sizes.padding,
                         .lhs_dilation = Ints(sizes.axes(), 1),
                         .rhs_dilation = sizes.dilation,
                         .lhs = "b.f",
                         .rhs = ".io",
                         .result = "b.f",
                         .feature_groups = sizes.groups};
  return {write_conv(conv, in[0], in[1], type, to)};
}

// The filter with its channels and filters swapped within each group.
Value exchanged(const Value& filter, int64_t groups, Writer& to) {
  const Shape taps = filter.shape().slice(0, -2);
  const int64_t rank = taps.rank();
  const int64_t channels = filter.shape()[rank];
  const int64_t filters = filter.shape()[rank + 1] / groups;
  const Value apart = reshape(to, filter, taps.concat({channels, groups, filters}));
  Ints order;
  for (int64_t axis = 0; axis < rank; ++axis) order.push_back(axis);
  order.insert(order.end(), {rank + 2, rank + 1, rank});
  return reshape(to, transpose(to, apart, order), taps.concat({filters, groups * channels}));
}

Values lower_conv_input_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.dtype == DType::Bool) return {};
  const ConvSizes sizes(type.shape, in[1].shape(), in[0].shape(), spec.attributes);
  Ints padding;
  for (size_t i = 0; i < sizes.axes(); ++i) {
    padding.push_back(sizes.window(i) - 1 - sizes.padding[2 * i]);
    padding.push_back(sizes.in[i] - sizes.spread_out(i) + sizes.padding[2 * i]);
  }
  const Convolution conv{.strides = Ints(sizes.axes(), 1),
                         .padding = padding,
                         .lhs_dilation = sizes.strides,
                         .rhs_dilation = sizes.dilation,
                         .reversed = true,
                         .lhs = "b.f",
                         .rhs = ".io",
                         .result = "b.f",
                         .feature_groups = sizes.groups};
  return {write_conv(conv, in[0], exchanged(in[1], sizes.groups, to), type, to)};
}

// The channels of x are convolved as examples, with dy as the filter; examples are summed as
// channels.
Values lower_conv_filter_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.dtype == DType::Bool) return {};
  const ConvSizes sizes(in[0].shape(), type.shape, in[1].shape(), spec.attributes);
  Ints padding;
  for (size_t i = 0; i < sizes.axes(); ++i) {
    const int64_t low = sizes.padding[2 * i];
    padding.push_back(low);
    padding.push_back(sizes.spread_out(i) + sizes.window(i) - 1 - sizes.in[i] - low);
  }
  const Convolution conv{.strides = sizes.dilation,
                         .padding = padding,
                         .lhs_dilation = Ints(sizes.axes(), 1),
                         .rhs_dilation = sizes.strides,
                         .lhs = "f.b",
                         .rhs = "i.o",
                         .result = ".bf",
                         .batch_groups = sizes.groups};
  return {write_conv(conv, in[0], in[1], type, to)};
}

}  // namespace

void register_conv(LoweringTable& table) {
  table.add("conv", lower_conv);
  table.add("conv_input_grad", lower_conv_input_grad);
  table.add("conv_filter_grad", lower_conv_filter_grad);
}

}  // namespace cornu::xla
