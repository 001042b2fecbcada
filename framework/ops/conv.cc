// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/conv.h"

#include <algorithm>

#include "framework/core/error_place.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

struct ConvAttributes {
  explicit ConvAttributes(const Attributes& a)
      : strides(a.get_ints("strides")),
        padding(a.get_ints("padding")),
        dilation(a.get_ints("dilation")),
        groups(a.get_int("groups")) {}
  const std::vector<int64_t>& strides;
  const std::vector<int64_t>& padding;
  const std::vector<int64_t>& dilation;
  int64_t groups;
};

// Throws InvalidArgument unless the attributes fit `spatial` axes.
void check_attributes(const ConvAttributes& a, size_t spatial, std::string_view who) {
  auto all_positive = [](const std::vector<int64_t>& values) {
    return std::all_of(values.begin(), values.end(), [](int64_t v) { return v > 0; });
  };
  auto from_zero = [](const std::vector<int64_t>& values) {
    return std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 0; });
  };
  check<InvalidArgument>(a.strides.size() == spatial && a.dilation.size() == spatial &&
                             a.padding.size() == 2 * spatial && all_positive(a.strides) &&
                             all_positive(a.dilation) && from_zero(a.padding) && a.groups > 0,
                         "{}: expected strides and dilations from 1 and paddings from 0 for {} "
                         "spatial axes, got {}, {} and {}.",
                         who, spatial, Shape(a.strides), Shape(a.dilation), Shape(a.padding));
}

Shape conv_shape(const Shape& x, const Shape& filter, const ConvAttributes& a) {
  const int64_t rank = x.rank();
  check<InvalidArgument>(rank >= 3 && rank <= 5 && filter.rank() == rank,
                         "conv: expected an input (batch, spatial…, channels) and a kernel "
                         "(spatial…, channels, filters) of 1 to 3 spatial axes, got {} and {}.",
                         x, filter);
  check_attributes(a, static_cast<size_t>(rank) - 2, "conv");
  const int64_t channels = x.back();
  check<InvalidArgument>(
      channels == Checked(filter[rank - 2], "conv") * a.groups && filter.back() % a.groups == 0,
      "conv: expected a kernel for {} channels in {} groups, with as many filters "
      "a group, got kernel {}.",
      channels, a.groups, filter);
  Shape out = {x[0]};
  for (int64_t i = 0; i < rank - 2; ++i) {
    const auto s = static_cast<size_t>(i);
    const int64_t window = dilated_extent(filter[i], a.dilation[s], "conv");
    const int64_t padded = Checked(a.padding[2 * s], "conv") + a.padding[2 * s + 1] + x[i + 1];
    const auto places = places_of_window(x[i + 1], padded, window, a.strides[s]);
    check<InvalidArgument>(places.has_value(),
                           "conv: expected an input at least as large as the kernel's window, got "
                           "{} for kernel {}. Use padding \"same\" or a larger input.",
                           x, filter);
    out.push_back(*places);
  }
  out.push_back(filter.back());
  return out;
}

Types infer_conv(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "conv");
  check<InvalidArgument>(inputs[0].dtype == inputs[1].dtype,
                         "conv: expected input and kernel of one dtype, got {} and {}.",
                         inputs[0].dtype, inputs[1].dtype);
  return {
      {inputs[0].dtype, conv_shape(inputs[0].shape, inputs[1].shape, ConvAttributes(attributes))}};
}

// A gradient's op must receive the gradient of exactly the output that conv would compute.
Types infer_gradient(std::string_view who, const Shape& x, const Shape& filter,
                     const TensorType& dy, const Attributes& attributes, const Shape& result) {
  const Shape expected = conv_shape(x, filter, ConvAttributes(attributes));
  check<InvalidArgument>(dy.shape == expected, "{}: expected a gradient of shape {}, got {}.", who,
                         expected, dy.shape);
  return {{dy.dtype, result}};
}

Types infer_input_grad(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "conv_input_grad");
  const Shape x = attributes.get_shape("input_shape");
  return infer_gradient("conv_input_grad", x, inputs[1].shape, inputs[0], attributes, x);
}

Types infer_filter_grad(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "conv_filter_grad");
  const Shape filter = attributes.get_shape("filter_shape");
  return infer_gradient("conv_filter_grad", inputs[0].shape, filter, inputs[1], attributes, filter);
}

Attributes plain(const Attributes& attributes) {
  Attributes result;
  for (const char* name : {"strides", "padding", "dilation", "groups"}) {
    result.set(name, *attributes.find(name));
  }
  return result;
}

Tensor conv_op(const Tensor& x, const Tensor& filter, const Attributes& attributes) {
  return call<"conv">({x, filter}, plain(attributes));
}

Tensor input_grad(const Tensor& dy, const Tensor& filter, const Attributes& attributes,
                  const Shape& x) {
  Attributes with_shape = plain(attributes);
  with_shape.set("input_shape", x.dims());
  return call<"conv_input_grad">({dy, filter}, with_shape);
}

Tensor filter_grad(const Tensor& x, const Tensor& dy, const Attributes& attributes,
                   const Shape& filter) {
  Attributes with_shape = plain(attributes);
  with_shape.set("filter_shape", filter.dims());
  return call<"conv_filter_grad">({x, dy}, with_shape);
}

// conv is bilinear in (x, filter): the three ops are each other's gradients.
Gradients conv_vjp(const VjpContext& c) {
  Gradients result(2);
  if (c.needed[0]) result[0] = input_grad(c.gradient(), c.in(1), c.attributes, c.in(0).shape());
  if (c.needed[1]) result[1] = filter_grad(c.in(0), c.gradient(), c.attributes, c.in(1).shape());
  return result;
}

Gradients input_grad_vjp(const VjpContext& c) {
  Gradients result(2);
  if (c.needed[0]) result[0] = conv_op(c.gradient(), c.in(1), c.attributes);
  if (c.needed[1]) result[1] = filter_grad(c.gradient(), c.in(0), c.attributes, c.in(1).shape());
  return result;
}

Gradients filter_grad_vjp(const VjpContext& c) {
  Gradients result(2);
  if (c.needed[0]) result[0] = input_grad(c.in(1), c.gradient(), c.attributes, c.in(0).shape());
  if (c.needed[1]) result[1] = conv_op(c.in(0), c.gradient(), c.attributes);
  return result;
}

}  // namespace

void register_conv(OpRegistry& registry) {
  registry.add({.name = "conv", .infer = infer_conv, .vjp = conv_vjp, .traits = {}});
  registry.add(
      {.name = "conv_input_grad", .infer = infer_input_grad, .vjp = input_grad_vjp, .traits = {}});
  registry.add({.name = "conv_filter_grad",
                .infer = infer_filter_grad,
                .vjp = filter_grad_vjp,
                .traits = {}});
}

namespace {

KerasForm form_of_conv(const char* class_name, const std::vector<int64_t>& strides,
                       const Padding& padding, const std::vector<int64_t>& dilation) {
  return {"nn", class_name,
          Json::object({{"strides", strides},
                        {"padding", padding.is_same() ? "same" : "valid"},
                        {"data_format", "channels_last"},
                        {"dilation_rate", dilation}})};
}

void require_channels(const Tensor& x, std::string_view who) {
  check<InvalidArgument>(x.rank() == 0 || x.shape().back() != kUnknown,
                         "{}: expected an input whose channels are known, got shape {}.", who,
                         x.shape());
}

}  // namespace

Tensor conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options) {
  const ErrorPlace scope("conv");
  const DType dtype = promote(inputs.dtype(), kernel.dtype());
  const Tensor x = cast(inputs, dtype);
  const Tensor filter = cast(kernel, dtype);
  check<InvalidArgument>(x.rank() >= 3 && x.rank() <= 5 && filter.rank() == x.rank(),
                         "conv: expected an input (batch, spatial…, channels) and a kernel "
                         "(spatial…, channels, filters) of 1 to 3 spatial axes, got {} and {}.",
                         x.shape(), filter.shape());
  const int64_t axes = x.rank() - 2;
  const int64_t channels = x.shape().back();
  const int64_t of_kernel = filter.shape()[axes];
  require_channels(x, "conv");
  check<InvalidArgument>(of_kernel > 0 && channels % of_kernel == 0,
                         "conv: expected a kernel for {} channels (or an equal part of them for "
                         "each group), got kernel {}.",
                         channels, filter.shape());
  const auto strides = options.strides.spread(axes, "conv", "strides");
  const auto dilation = options.dilation_rate.spread(axes, "conv", "dilation_rate");
  if (has_open_padding(x, options.padding, strides)) {
    return whole_of(
        "conv", std::vector<Tensor>{inputs, kernel},
        form_of_conv("Conv", strides, options.padding, dilation),
        [options](const std::vector<Tensor>& in) { return conv(in[0], in[1], options); });
  }
  const auto padding =
      options.padding.resolve(x.shape().slice(1, axes + 1).dims(),
                              filter.shape().slice(0, axes).dims(), strides, dilation, "conv");
  return conv_op(x, filter,
                 {{"strides", strides},
                  {"padding", padding},
                  {"dilation", dilation},
                  {"groups", channels / of_kernel}});
}

Tensor depthwise_conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options) {
  const ErrorPlace scope("depthwise_conv");
  const Shape& shape = kernel.shape();
  require_channels(inputs, "depthwise_conv");
  check<InvalidArgument>(shape.rank() >= 3 && shape[shape.rank() - 2] == inputs.shape().back(),
                         "depthwise_conv: expected a kernel (spatial…, {} channels, multiplier), "
                         "got {}.",
                         inputs.shape().back(), shape);
  const int64_t channels = shape[shape.rank() - 2];
  const Shape grouped = shape.slice(0, shape.rank() - 2)
                            .concat({1, Checked(channels, "depthwise_conv") * shape.back()});
  return conv(inputs, reshape(kernel, grouped), options);
}

Tensor separable_conv(const Tensor& inputs, const Tensor& depthwise_kernel,
                      const Tensor& pointwise_kernel, const ConvOptions& options) {
  const ErrorPlace scope("separable_conv");
  return conv(depthwise_conv(inputs, depthwise_kernel, options), pointwise_kernel);
}

namespace {

// The result of a transposed convolution along one axis, by Keras's rules.
struct TransposedAxis {
  int64_t size;
  int64_t padding;  // of the convolution that this is the transpose of, before and after
};

TransposedAxis transposed_axis(int64_t size, int64_t extent, int64_t stride, bool same,
                               std::optional<int64_t> output_padding) {
  const Checked strides = (Checked(size, "conv_transpose") - 1) * stride;
  const Checked full = strides + extent;
  if (!same) return {full + output_padding.value_or(std::max<int64_t>(stride - extent, 0)), 0};
  const Checked result = output_padding ? strides + extent % 2 + *output_padding : strides + stride;
  return {result, std::max<int64_t>(full - result, 0)};
}

}  // namespace

// The gradient of a convolution with respect to its input, as a function in its own right.
Tensor conv_transpose(const Tensor& inputs, const Tensor& kernel,
                      const ConvTransposeOptions& options) {
  const ErrorPlace scope("conv_transpose");
  const DType dtype = promote(inputs.dtype(), kernel.dtype());
  const int64_t axes = inputs.rank() - 2;
  check<InvalidArgument>(
      axes >= 1 && axes <= 3 && kernel.rank() == inputs.rank() &&
          kernel.shape().back() == inputs.shape().back(),
      "conv_transpose: expected an input (batch, spatial…, channels) and a kernel "
      "(spatial…, filters, channels) of 1 to 3 spatial axes, got {} and {}.",
      inputs.shape(), kernel.shape());
  check<InvalidArgument>(options.padding.is_same() || options.padding.is_valid(),
                         "conv_transpose: expected padding \"valid\" or \"same\", got pairs.");
  const auto strides = options.strides.spread(axes, "conv_transpose", "strides");
  const auto dilation = options.dilation_rate.spread(axes, "conv_transpose", "dilation_rate");
  std::vector<int64_t> added;
  if (options.output_padding.given()) {
    added = options.output_padding.spread(axes, "conv_transpose", "output_padding", 0);
  }
  if (is_open(inputs)) {
    KerasForm form = form_of_conv("ConvTranspose", strides, options.padding, dilation);
    form.config.set("output_padding", added.empty() ? Json() : Json(added));
    return whole_of(
        "conv_transpose", std::vector<Tensor>{inputs, kernel}, form,
        [options](const std::vector<Tensor>& in) { return conv_transpose(in[0], in[1], options); });
  }
  Shape out = {inputs.shape()[0]};
  std::vector<int64_t> padding;
  for (int64_t i = 0; i < axes; ++i) {
    const auto s = static_cast<size_t>(i);
    check<InvalidArgument>(added.empty() || added[s] < strides[s],
                           "conv_transpose: expected output_padding smaller than strides {}, got "
                           "{}.",
                           Shape(strides), Shape(added));
    const int64_t extent = dilated_extent(kernel.shape()[i], dilation[s], "conv_transpose");
    const TransposedAxis axis =
        transposed_axis(inputs.shape()[i + 1], extent, strides[s], options.padding.is_same(),
                        added.empty() ? std::nullopt : std::optional<int64_t>(added[s]));
    padding.push_back(axis.padding / 2);
    padding.push_back(axis.padding - axis.padding / 2);
    out.push_back(axis.size);
  }
  out.push_back(kernel.shape()[axes]);
  return input_grad(
      cast(inputs, dtype), cast(kernel, dtype),
      {{"strides", strides}, {"padding", padding}, {"dilation", dilation}, {"groups", int64_t{1}}},
      out);
}

}  // namespace cornu::ops
