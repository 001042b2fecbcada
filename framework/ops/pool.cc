// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/pool.h"

#include <algorithm>
#include <utility>

#include "framework/core/checked.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/limits.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

Shape pooled_shape(const Shape& x, const Attributes& attributes, std::string_view who) {
  const auto& window = attributes.get_ints("window");
  const auto& strides = attributes.get_ints("strides");
  const auto& padding = attributes.get_ints("padding");
  const auto axes = static_cast<size_t>(x.rank() - 2);
  check<InvalidArgument>(x.rank() >= 3 && x.rank() <= 5 && window.size() == axes &&
                             strides.size() == axes && padding.size() == 2 * axes,
                         "{}: expected an input (batch, spatial…, channels) with as many spatial "
                         "axes as the window, got {}.",
                         who, x);
  Shape out = {x[0]};
  int64_t positions = 1;  // in a window
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = x[static_cast<int64_t>(i) + 1];
    const int64_t padded = Checked(padding[2 * i], who) + padding[2 * i + 1] + size;
    const int64_t most = std::max(padding[2 * i], padding[2 * i + 1]);
    check<InvalidArgument>(padding[2 * i] >= 0 && padding[2 * i + 1] >= 0 && most < window[i],
                           "{}: expected a padding from 0 and smaller than the window {}, got {}.",
                           who, Shape(window), Shape(padding));
    const bool positive = window[i] > 0 && strides[i] > 0;
    const auto places =
        positive ? places_of_window(size, padded, window[i], strides[i]) : std::nullopt;
    check<InvalidArgument>(places.has_value(),
                           "{}: expected an input at least as large as the window, got {}. Use "
                           "padding \"same\", a smaller pool_size or a larger input.",
                           who, x);
    positions = checked_multiply(positions, window[i], who);
    out.push_back(*places);
  }
  out.push_back(x.back());
  return out;
}

void check_pooled(const TensorType& pooled, const Shape& x, const Attributes& attributes,
                  std::string_view who) {
  const Shape expected = pooled_shape(x, attributes, who);
  check<InvalidArgument>(pooled.shape == expected, "{}: expected shape {}, got {}.", who, expected,
                         pooled.shape);
}

Types infer_pool(TypeSpan inputs, const Attributes& attributes, std::string_view who) {
  require_inputs(inputs, 1, who);
  return {{inputs[0].dtype, pooled_shape(inputs[0].shape, attributes, who)}};
}

Types infer_max_pool_grad(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 3, "max_pool_grad");
  check_pooled(inputs[1], inputs[0].shape, attributes, "max_pool_grad");
  check_pooled(inputs[2], inputs[0].shape, attributes, "max_pool_grad");
  return {{inputs[2].dtype, inputs[0].shape}};
}

Types infer_max_pool_select(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 3, "max_pool_select");
  check_pooled(inputs[1], inputs[0].shape, attributes, "max_pool_select");
  check<InvalidArgument>(inputs[2].shape == inputs[0].shape,
                         "max_pool_select: expected shape {}, got {}.", inputs[0].shape,
                         inputs[2].shape);
  return {{inputs[2].dtype, inputs[1].shape}};
}

Types infer_avg_pool_grad(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 1, "avg_pool_grad");
  const Shape x = attributes.get_shape("input_shape");
  check_pooled(inputs[0], x, attributes, "avg_pool_grad");
  return {{inputs[0].dtype, x}};
}

Attributes plain(const Attributes& attributes) {
  Attributes result;
  for (const char* name : {"window", "strides", "padding"}) {
    result.set(name, *attributes.find(name));
  }
  return result;
}

Gradients max_pool_vjp(const VjpContext& c) {
  return {call<"max_pool_grad">({c.in(0), c.out(), c.gradient()}, c.attributes)};
}

// max_pool_grad and max_pool_select are linear in their last input, and each other's transposes.
Gradients max_pool_grad_vjp(const VjpContext& c) {
  return {Tensor(), Tensor(),
          call<"max_pool_select">({c.in(0), c.in(1), c.gradient()}, c.attributes)};
}

Gradients max_pool_select_vjp(const VjpContext& c) {
  return {Tensor(), Tensor(),
          call<"max_pool_grad">({c.in(0), c.in(1), c.gradient()}, c.attributes)};
}

Gradients avg_pool_vjp(const VjpContext& c) {
  Attributes attributes = plain(c.attributes);
  attributes.set("input_shape", c.in(0).shape().dims());
  return {call<"avg_pool_grad">({c.gradient()}, attributes)};
}

Gradients avg_pool_grad_vjp(const VjpContext& c) {
  return {call<"avg_pool">({c.gradient()}, plain(c.attributes))};
}

template <OpName kName>
Tensor pool(const char* who, const Tensor& x, const Sizes& pool_size, const PoolOptions& options) {
  require_defined(x, who);
  check<InvalidArgument>(x.rank() >= 3 && x.rank() <= 5,
                         "{}: expected an input (batch, spatial…, channels), got {}.", who,
                         x.shape());
  const int64_t axes = x.rank() - 2;
  const auto window = pool_size.spread(axes, who, "pool_size");
  const auto strides =
      options.strides.given() ? options.strides.spread(axes, who, "strides") : window;
  if (has_open_padding(x, options.padding, strides)) {
    const bool is_max = std::string_view(kName.text) == "max_pool";
    const Json config = Json::object({{"pool_size", window},
                                      {"strides", strides},
                                      {"padding", "same"},
                                      {"data_format", "channels_last"}});
    return whole_of(who, x, {"nn", is_max ? "MaxPool" : "AveragePool", config},
                    [=](const Tensor& in) { return pool<kName>(who, in, pool_size, options); });
  }
  const std::vector<int64_t> dilation(static_cast<size_t>(axes), 1);
  const auto padding =
      options.padding.resolve(x.shape().slice(1, axes + 1).dims(), window, strides, dilation, who);
  return call<kName>({x}, {{"window", window}, {"strides", strides}, {"padding", padding}});
}

}  // namespace

void register_pool(OpRegistry& registry) {
  registry.add(
      {.name = "max_pool",
       .infer = [](TypeSpan in, const Attributes& a) { return infer_pool(in, a, "max_pool"); },
       .vjp = max_pool_vjp,
       .traits = {}});
  registry.add({.name = "max_pool_grad",
                .infer = infer_max_pool_grad,
                .vjp = max_pool_grad_vjp,
                .traits = {}});
  registry.add({.name = "max_pool_select",
                .infer = infer_max_pool_select,
                .vjp = max_pool_select_vjp,
                .traits = {}});
  registry.add(
      {.name = "avg_pool",
       .infer = [](TypeSpan in, const Attributes& a) { return infer_pool(in, a, "average_pool"); },
       .vjp = avg_pool_vjp,
       .traits = {}});
  registry.add({.name = "avg_pool_grad",
                .infer = infer_avg_pool_grad,
                .vjp = avg_pool_grad_vjp,
                .traits = {}});
}

Tensor max_pool(const Tensor& inputs, const Sizes& pool_size, const PoolOptions& options) {
  return pool<"max_pool">("max_pool", inputs, pool_size, options);
}

Tensor average_pool(const Tensor& inputs, const Sizes& pool_size, const PoolOptions& options) {
  const Tensor x = is_floating(inputs.dtype()) ? inputs : cast(inputs, DType::Float32);
  return pool<"avg_pool">("average_pool", x, pool_size, options);
}

namespace {

// The windows of one axis of adaptive pooling, side by side: shorter ones are filled up with their
// last element.
struct AdaptiveWindows {
  int64_t width = 1;  // of the widest window
  std::vector<int64_t> sizes;
  std::vector<int64_t> elements;  // `width` elements per window

  AdaptiveWindows(int64_t size, int64_t count) {
    std::vector<int64_t> begins;
    for (int64_t i = 0; i < count; ++i) {
      begins.push_back(i * size / count);
      sizes.push_back(((i + 1) * size + count - 1) / count - begins.back());
      width = std::max(width, sizes.back());
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      for (int64_t k = 0; k < width; ++k) {
        elements.push_back(begins[i] + std::min(k, sizes[i] - 1));
      }
    }
  }
  // Whether the windows are simply the axis itself: they contain all of it, without overlap.
  bool plain(int64_t size) const { return static_cast<int64_t>(elements.size()) == size; }
  bool even() const {
    return std::all_of(sizes.begin(), sizes.end(), [this](int64_t s) { return s == width; });
  }
};

// A vector with the length of `axis` of x, reshaped to broadcast over it.
template <class T>
Tensor along(const std::vector<T>& values, const Tensor& x, int64_t axis) {
  Shape shape(std::vector<int64_t>(static_cast<size_t>(x.rank()), 1));
  shape[axis] = static_cast<int64_t>(values.size());
  return reshape(Tensor::from(values), shape);
}

// x, whose `axis` consists of windows side by side, with the fillers set to zero and the other
// elements scaled such that the mean of `width` elements is that of the window.
Tensor weigh_windows(const Tensor& x, int64_t axis, const AdaptiveWindows& windows) {
  std::vector<double> factors;
  std::vector<uint8_t> inside;
  for (const int64_t size : windows.sizes) {
    for (int64_t k = 0; k < windows.width; ++k) {
      inside.push_back(k < size);
      factors.push_back(static_cast<double>(windows.width) / static_cast<double>(size));
    }
  }
  const Tensor counted = where(cast(along(inside, x, axis), DType::Bool), x, 0);
  return counted * cast(along(factors, x, axis), x.dtype());
}

Tensor adaptive_pool(const char* who, Tensor x, const Sizes& output_size, bool average) {
  require_defined(x, who);
  check<InvalidArgument>(x.rank() >= 3 && x.rank() <= 5,
                         "{}: expected an input (batch, spatial…, channels), got {}.", who,
                         x.shape());
  const auto counts = output_size.spread(x.rank() - 2, who, "output_size");
  bool open = false;
  for (int64_t axis = 1; axis + 1 < x.rank(); ++axis) open = open || is_open(x, axis);
  if (open) {
    const Json config = Json::object({{"output_size", counts}, {"data_format", "channels_last"}});
    return whole_of(who, x, {"nn", average ? "AdaptiveAveragePool" : "AdaptiveMaxPool", config},
                    [=](const Tensor& in) { return adaptive_pool(who, in, output_size, average); });
  }
  if (average && !is_floating(x.dtype())) x = cast(x, DType::Float32);
  std::vector<int64_t> window;
  for (int64_t axis = 1; axis + 1 < x.rank(); ++axis) {
    const int64_t size = x.dim(axis);
    check<InvalidArgument>(size > 0, "{}: expected known spatial axes with elements, got {}.", who,
                           x.shape());
    const int64_t count = counts[static_cast<size_t>(axis) - 1];
    require_few(count, "windows along an axis", who);
    (Checked(count, who) + 1) * size;  // checks that the window positions don't overflow
    require_table(2 * Checked(count, who) + size);
    const AdaptiveWindows windows(size, count);
    window.push_back(windows.width);
    if (windows.plain(size)) continue;
    // By itself, so that there is less to arrange along the next axis.
    x = take(x, Tensor::from(windows.elements), axis);
    if (average && !windows.even()) x = weigh_windows(x, axis, windows);
    std::vector<int64_t> along(static_cast<size_t>(x.rank()) - 2, 1);
    std::swap(along[static_cast<size_t>(axis) - 1], window.back());
    x = average ? average_pool(x, along) : max_pool(x, along);
  }
  return average ? average_pool(x, window) : max_pool(x, window);
}

}  // namespace

Tensor adaptive_max_pool(const Tensor& inputs, const Sizes& output_size) {
  return adaptive_pool("adaptive_max_pool", inputs, output_size, false);
}

Tensor adaptive_average_pool(const Tensor& inputs, const Sizes& output_size) {
  return adaptive_pool("adaptive_average_pool", inputs, output_size, true);
}

}  // namespace cornu::ops
