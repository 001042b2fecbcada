// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/core/checked.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"
#include "framework/saving/onnx/reading/windows.h"

namespace cornu::onnx::reading {
namespace {

struct Filters {
  Tensor kernel;  // (out, in / groups, spatial…); transposed: (in, out / groups, spatial…)
  Tensor bias;    // undefined if none
  int64_t groups = 1;
};

Filters filters_of(NodeReader& n, const Tensor& x) {
  n.refuse_constants();
  Filters filters{n.constant(1), n.has(2) ? n.constant(2) : Tensor(), n.integer("group", 1)};
  const Shape& kernel = filters.kernel.shape();
  const bool fits = kernel.rank() == x.rank() && x.rank() >= 3 && kernel.num_elements() > 0 &&
                    filters.groups > 0 && is_floating(x.dtype());
  check<InvalidArgument>(
      fits,
      "expected an input of floats (batch, channels, spatial…) and a kernel of as "
      "many axes, got {} {} and {}, {} groups.",
      x.dtype(), x.shape(), kernel, filters.groups);
  return filters;
}

void require_strides_or_dilations(NodeReader& n, const Windows& w) {
  if (std::ranges::max(w.strides) > 1 && std::ranges::max(w.dilations) > 1) {
    n.refuse("it has strides and dilations above 1 at once, which no layer of Keras has");
  }
}

NamedWeights named(Tensor kernel, const Tensor& bias) {
  NamedWeights weights = {{"kernel", std::move(kernel)}};
  if (bias.defined()) weights.emplace_back("bias", bias);
  return weights;
}

// A separate filter per channel; Keras's layer requires equal strides.
bool is_depthwise(const Filters& filters, const Windows& w, int64_t channels) {
  return filters.groups > 1 && filters.groups == channels && filters.kernel.dim(1) == 1 &&
         w.axes() <= 2 && filters.kernel.dim(0) % channels == 0 &&
         w.strides.front() == w.strides.back();
}

void read_conv(NodeReader& n) {
  Tensor x = n.in(0);
  const Filters filters = filters_of(n, x);
  const Shape& shape = filters.kernel.shape();
  Windows w = windows_of(n, x, shape.slice(2).dims());
  require_strides_or_dilations(n, w);
  const char* padding = w.same ? "same" : "valid";
  const bool causal = !w.same && w.axes() == 1 && w.before[0] == w.extent(0) - 1 &&
                      w.after[0] == 0 && w.before[0] > 0;
  const bool depthwise = is_depthwise(filters, w, x.dim(1));
  if (causal && !depthwise) {
    padding = "causal";
  } else if (!w.same && w.padded()) {
    x = with_zeros(n, x, w);
  }
  Json config = windows_config(w, padding);
  config.set("use_bias", filters.bias.defined());
  if (depthwise) {
    const int64_t channels = x.dim(1), multiplier = shape[0] / channels;
    config.set("depth_multiplier", multiplier);
    const Tensor apart =
        ops::reshape(filters.kernel, Shape({channels, multiplier}).concat(shape.slice(2)));
    return n.give(n.layer(class_of_axes("DepthwiseConv", w.axes()), std::move(config), x,
                          named(spatial_first(apart, {0, 1}), filters.bias))
                      .single());
  }
  config.set("filters", shape[0]);
  config.set("groups", filters.groups);
  n.give(n.layer(class_of_axes("Conv", w.axes()), std::move(config), x,
                 named(spatial_first(filters.kernel, {1, 0}), filters.bias))
             .single());
}

// ---- transposed ----

// What is cut off the full result of the kernels, or added at the end.
struct Margins {
  Ints before, after, added;
};

Margins margins_of(NodeReader& n, const Windows& w, const Tensor& x) {
  const size_t axes = w.axes();
  const Ints extra = n.integers("output_padding", Ints(axes, 0));
  const Ints wanted = n.integers("output_shape");
  const std::string automatic = auto_pad_of(n);
  check<InvalidArgument>(extra.size() == axes && (wanted.empty() || wanted.size() >= axes),
                         "expected output_padding and output_shape of {} axes.", axes);
  Margins margins;
  const Ints pads = n.integers("pads", Ints(2 * axes, 0));
  for (size_t axis = 0; axis < axes; ++axis) {
    int64_t before = pads[axis], after = pads[axes + axis];
    if (!wanted.empty() || automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const int64_t size = x.dim(static_cast<int64_t>(axis) + 2);
      if (!wanted.empty() && size == kUnknown) {
        n.refuse("its output_shape is given, but the size of an axis isn't known");
      }
      // Size in excess of size * strides.
      const int64_t over = Checked(w.extent(axis), "ConvTranspose") - w.strides[axis] + extra[axis];
      const int64_t total = wanted.empty()
                                ? over
                                : over + Checked(size, "ConvTranspose") * w.strides[axis] -
                                      wanted[wanted.size() - axes + axis];
      if (total < 0) n.refuse("its output is larger than its kernels reach");
      const int64_t less = total / 2, more = total - less;
      const bool upper = automatic == "SAME_UPPER";
      before = upper ? less : more;
      after = upper ? more : less;
    }
    margins.before.push_back(before);
    margins.after.push_back(std::max<int64_t>(after - extra[axis], 0));
    margins.added.push_back(std::max<int64_t>(extra[axis] - after, 0));
  }
  return margins;
}

Tensor without_margins(NodeReader& n, const Tensor& x, const Margins& margins) {
  const auto some = [](int64_t width) { return width != 0; };
  if (std::ranges::none_of(margins.before, some) && std::ranges::none_of(margins.after, some)) {
    return x;
  }
  const size_t axes = margins.before.size();
  if (axes == 1) {  // Cropping1D supports only channels last
    if (x.dim(2) == kUnknown && margins.after[0] > 0) {
      n.refuse("it cuts off the end of an axis of unknown size");
    }
    const std::optional<int64_t> end =
        x.dim(2) == kUnknown ? std::nullopt : std::optional(x.dim(2) - margins.after[0]);
    return ops::slice_axis(x, 2, margins.before[0], end);
  }
  Json::Array cropping;
  for (size_t axis = 0; axis < axes; ++axis) {
    cropping.push_back(Json::array({margins.before[axis], margins.after[axis]}));
  }
  const Json config =
      Json::object({{"cropping", Json(std::move(cropping))}, {"data_format", "channels_first"}});
  return n.layer(class_of_axes("Cropping", axes), config, x, {}, "crop").single();
}

void read_conv_transpose(NodeReader& n) {
  const Tensor x = n.in(0);
  const Filters filters = filters_of(n, x);
  const Shape& shape = filters.kernel.shape();
  if (filters.groups != 1) n.refuse("it has groups, which no layer of Keras has");
  const Ints kernel = shape.slice(2).dims();
  const auto axes = static_cast<size_t>(x.rank()) - 2;
  // Its padding isn't that of windows.
  Windows w;
  w.kernel = kernel;
  w.strides = n.integers("strides", Ints(axes, 1));
  w.dilations = n.integers("dilations", Ints(axes, 1));
  check<InvalidArgument>(w.strides.size() == axes && w.dilations.size() == axes &&
                             n.integers("pads", Ints(2 * axes, 0)).size() == 2 * axes &&
                             std::ranges::min(w.strides) > 0 && std::ranges::min(w.dilations) > 0,
                         "expected strides, dilations and pads for {} spatial axes.", axes);
  require_strides_or_dilations(n, w);
  const Margins margins = margins_of(n, w, x);
  Json config = windows_config(w, "valid");
  config.set("filters", shape[1]);
  config.set("use_bias", filters.bias.defined());
  bool reaches = true;  // the full result is what Keras computes itself
  for (size_t axis = 0; axis < axes; ++axis) {
    reaches = reaches && w.extent(axis) >= w.strides[axis] && margins.added[axis] == 0;
  }
  if (!reaches) config.set("output_padding", margins.added);
  const std::string class_name = class_of_axes("Conv", axes, "Transpose");
  const Tensor y = n.layer(class_name, std::move(config), x,
                           named(spatial_first(filters.kernel, {1, 0}), filters.bias))
                       .single();
  n.give(without_margins(n, y, margins));
}

const Rule kRulesOfConvolutions[] = {
    {"Conv", read_conv},
    {"ConvTranspose", read_conv_transpose},
};

}  // namespace

std::span<const Rule> convolution_rules() { return kRulesOfConvolutions; }

}  // namespace cornu::onnx::reading
