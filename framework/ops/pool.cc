// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/pool.h"

#include <algorithm>

#include "framework/ops/definition.h"
#include "framework/ops/math.h"

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
  int64_t positions = 1;  // of a window
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = x[static_cast<int64_t>(i) + 1];
    const int64_t padded =
        checked_add(size, checked_add(padding[2 * i], padding[2 * i + 1], who), who);
    const int64_t most = std::max(padding[2 * i], padding[2 * i + 1]);
    check<InvalidArgument>(padding[2 * i] >= 0 && padding[2 * i + 1] >= 0 && most < window[i],
                           "{}: expected a padding from 0 and smaller than the window {}, got {}.",
                           who, Shape(window), Shape(padding));
    check<InvalidArgument>(window[i] > 0 && strides[i] > 0 && padded >= window[i],
                           "{}: expected an input at least as large as the window, got {}. Use "
                           "padding \"same\", a smaller pool_size or a larger input.",
                           who, x);
    positions = checked_multiply(positions, window[i], who);
    out.push_back((padded - window[i]) / strides[i] + 1);
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
  check<InvalidArgument>(x.rank() >= 3 && x.rank() <= 5,
                         "{}: expected an input (batch, spatial…, channels), got {}.", who,
                         x.shape());
  const int64_t axes = x.rank() - 2;
  const auto window = pool_size.spread(axes, who, "pool_size");
  const auto strides =
      options.strides.given() ? options.strides.spread(axes, who, "strides") : window;
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

}  // namespace cornu::ops
