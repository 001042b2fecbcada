// SPDX-License-Identifier: Apache-2.0
// Pooling of channels-last arrays.
#include <algorithm>

#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

using Ints = std::vector<int64_t>;

// x (batch, in..., channels), y (batch, out..., channels); windows along all axes.
struct Windows {
  Windows(const Shape& x_shape, const Shape& y_shape, const Attributes& attributes)
      : x(x_shape), y(y_shape), window({1}), strides({1}), padding({0, 0}) {
    const auto append = [](Ints& list, const Ints& more) {
      list.insert(list.end(), more.begin(), more.end());
    };
    append(window, attributes.get_ints("window"));
    append(strides, attributes.get_ints("strides"));
    append(padding, attributes.get_ints("padding"));
    append(window, {1});
    append(strides, {1});
    append(padding, {0, 0});
    for (size_t i = 1; i + 1 < window.size(); ++i) cut(i);
  }

  // A single window that covers the whole axis is cut down to it.
  void cut(size_t i) {
    const auto axis = static_cast<int64_t>(i);
    if (y[axis] != 1 || window[i] - padding[2 * i] < x[axis]) return;
    window[i] = x[axis];
    strides[i] = 1;
    padding[2 * i] = 0;
    padding[2 * i + 1] = 0;
  }

  std::string text() const {
    return fmt::format("window_dimensions = {}, window_strides = {}, padding = {}",
                       array_text(window), array_text(strides), pairs_text(padding));
  }

  Shape x;
  Shape y;
  Ints window;
  Ints strides;
  Ints padding;
};

Values lower_max_pool(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.dtype == DType::Bool) return {};
  const Windows windows(in[0].shape(), type.shape, spec.attributes);
  const Value lowest = extreme(to, false, {type.dtype, {}});
  return {to.op("stablehlo.reduce_window", {in[0], lowest}, type, windows.text(),
                to.reducer("maximum", type.dtype))};
}

// dy at the first of the largest elements of each window.
Values lower_max_pool_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (type.dtype == DType::Bool) return {};
  const Windows windows(in[0].shape(), in[1].shape(), spec.attributes);
  // Sums of 16-bit floats are computed in float32.
  const bool half = is_half(type.dtype);
  const Value x = half ? convert(to, in[0], DType::Float32) : in[0];
  const Value dy = half ? convert(to, in[2], DType::Float32) : in[2];
  const TensorType scalar{x.dtype(), {}};
  const TensorType two[] = {scalar, scalar};
  const std::string larger = to.region(
      two, [&](std::span<const Value> v) -> Values { return {compare(to, "GE", v[0], v[1])}; });
  const Value zero = splat(to, 0, {dy.dtype(), {}});
  const Value dx = to.op("stablehlo.select_and_scatter", {x, dy, zero}, {dy.dtype(), type.shape},
                         windows.text(), larger + ", " + to.reducer("add", dy.dtype()));
  return {convert(to, dx, type.dtype)};
}

// g at these elements: the largest elements are found together with their positions and g's values
// there.
Values lower_max_pool_select(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  const DType dtype = in[0].dtype();
  if (dtype == DType::Bool) return {};
  const Windows windows(in[0].shape(), type.shape, spec.attributes);
  const int64_t count = in[0].shape().num_elements();
  const Value place = reshape(to, iota(to, {DType::Int64, {count}}, 0), in[0].shape());
  const TensorType scalars[] = {{dtype, {}}, {DType::Int64, {}}, {type.dtype, {}}};
  const TensorType arguments[] = {scalars[0], scalars[1], scalars[2],
                                  scalars[0], scalars[1], scalars[2]};
  const std::string better = to.region(arguments, [&](std::span<const Value> v) -> Values {
    const Value earlier = both(to, compare(to, "EQ", v[0], v[3]), compare(to, "LT", v[1], v[4]));
    const Value first = either(to, compare(to, "GT", v[0], v[3]), earlier);
    return {select(to, first, v[0], v[3]), select(to, first, v[1], v[4]),
            select(to, first, v[2], v[5])};
  });
  const Value operands[] = {in[0],
                            place,
                            in[2],
                            extreme(to, false, scalars[0]),
                            splat_int(to, count, scalars[1]),
                            splat(to, 0, scalars[2])};
  const TensorType results[] = {{dtype, type.shape}, {DType::Int64, type.shape}, type};
  return {to.ops("stablehlo.reduce_window", operands, results, windows.text(), better)[2]};
}

// The number of elements of x in each window, in y's type: a product of numbers along its axes.
Value window_sizes(const Windows& windows, const TensorType& type, Writer& to) {
  Value sizes = splat(to, 1, type);
  for (int64_t axis = 1; axis + 1 < windows.x.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    std::vector<float> along;
    for (int64_t at = 0; at < windows.y[axis]; ++at) {
      const int64_t begin = at * windows.strides[i] - windows.padding[2 * i];
      const int64_t end = std::min(windows.x[axis], begin + windows.window[i]);
      along.push_back(static_cast<float>(end - std::max<int64_t>(0, begin)));
    }
    const Value line = convert(to, constant(to, Tensor::from(along)), type.dtype);
    const int64_t axes[] = {axis};
    sizes = multiply(to, sizes, broadcast_in(to, line, type.shape, axes));
  }
  return sizes;
}

Value sum_of_windows(const Value& x, const Shape& shape, const std::string& text, Writer& to) {
  return to.op("stablehlo.reduce_window", {x, splat(to, 0, {x.dtype(), {}})}, {x.dtype(), shape},
               text, to.reducer("add", x.dtype()));
}

Values lower_avg_pool(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (!is_floating(type.dtype)) return {};
  const Windows windows(in[0].shape(), type.shape, spec.attributes);
  const Value x = is_half(type.dtype) ? convert(to, in[0], DType::Float32) : in[0];
  const Value sum = sum_of_windows(x, type.shape, windows.text(), to);
  return {convert(to, divide(to, sum, window_sizes(windows, sum.type, to)), type.dtype)};
}

// Each element gets a share of all windows that contain it.
Values lower_avg_pool_grad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  if (!is_floating(type.dtype)) return {};
  const Windows windows(type.shape, in[0].shape(), spec.attributes);
  const Value dy = is_half(type.dtype) ? convert(to, in[0], DType::Float32) : in[0];
  const Value shares = divide(to, dy, window_sizes(windows, dy.type, to));
  Ints low;
  Ints high;
  Ints interior;
  for (size_t i = 0; i < windows.window.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const int64_t covered = (windows.y[axis] - 1) * windows.strides[i] + 1;
    low.push_back(windows.window[i] - 1 - windows.padding[2 * i]);
    high.push_back(windows.x[axis] - covered + windows.padding[2 * i]);
    interior.push_back(windows.strides[i] - 1);
  }
  const Value apart = pad(to, shares, splat(to, 0, {dy.dtype(), {}}), low, high, interior);
  const Value dx =
      sum_of_windows(apart, type.shape, "window_dimensions = " + array_text(windows.window), to);
  return {convert(to, dx, type.dtype)};
}

}  // namespace

void register_pooling(LoweringTable& table) {
  table.add("max_pool", lower_max_pool);
  table.add("max_pool_grad", lower_max_pool_grad);
  table.add("max_pool_select", lower_max_pool_select);
  table.add("avg_pool", lower_avg_pool);
  table.add("avg_pool_grad", lower_avg_pool_grad);
}

}  // namespace cornu::xla
