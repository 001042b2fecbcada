// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/norm.h"

#include <cmath>

#include "framework/core/error_place.h"
#include "framework/ops/control.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/numeric.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// Runs `f` on x in float32 if x is a 16-bit float, and converts its result back.
template <class F>
Tensor in_float32(const Tensor& x, F f) {
  return is_half(x.dtype()) ? cast(f(cast(x, DType::Float32)), x.dtype()) : f(x);
}

// Reshapes a weight with the shape of `axes` so that it broadcasts over x.
Tensor over_axes(const Tensor& weight, const Tensor& x, const std::vector<int64_t>& axes) {
  if (axes.size() == 1 && axes[0] == x.rank() - 1) return weight;
  Shape shape(std::vector<int64_t>(static_cast<size_t>(x.rank()), 1));
  for (int64_t axis : axes) shape[axis] = x.shape()[axis];
  return reshape(weight, shape);
}

// Computes f(operands, scale, shift) as a single composite, with the first operand in float32;
// undefined weights stay undefined.
template <OpName kName, bool kHasSums, class F>
Tensor with_weights(const std::vector<Tensor>& operands, const Tensor& scale, const Tensor& shift,
                    Attributes attributes, F f) {
  std::vector<Tensor> inputs = operands;
  attributes.set("has_scale", scale.defined());
  attributes.set("has_shift", shift.defined());
  if (scale.defined()) inputs.push_back(scale);
  if (shift.defined()) inputs.push_back(shift);
  return in_float32(operands[0], [&](const Tensor& v) {
    inputs[0] = v;
    return at_once<kName, kHasSums>(inputs, attributes, [&](const std::vector<Tensor>& in) {
      return f(in, scale.defined() ? in[operands.size()] : scale,
               shift.defined() ? in.back() : shift);
    });
  });
}

}  // namespace

std::pair<Tensor, Tensor> moments(const Tensor& x, const Axes& axes, bool keepdims) {
  const ErrorPlace scope("moments");
  const auto reduced = axes.normalized(x.shape(), "moments");
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::Float32;
  const auto results = all_at_once<"moments", true>(
      {x}, {{"axes", reduced}, {"keepdims", keepdims}}, [&](const std::vector<Tensor>& in) {
        const Tensor wide = to_accumulator(in[0]);
        const Tensor center = mean(wide, reduced, true);
        // For any constant c, var(x) = mean((x - c)^2) - (mean(x) - c)^2. With c the mean itself,
        // the last term is 0, but it contributes the part of the gradient that comes from the mean,
        // to any order, without another pass over x.
        const Tensor constant = stop_gradient(center);
        const Tensor variance =
            mean(square(wide - constant), reduced, true) - square(center - constant);
        const auto shaped = [&](const Tensor& kept) {
          const Tensor result = keepdims ? kept : squeeze(kept, reduced);
          // A variance easily exceeds the range of float16.
          return dtype == DType::Float16 ? saturate_cast(result, dtype) : cast(result, dtype);
        };
        return std::vector<Tensor>{shaped(center), shaped(variance)};
      });
  return {results[0], results[1]};
}

Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance,
                           int64_t axis, const BatchNormalizationOptions& options) {
  const ErrorPlace scope("batch_normalization");
  const int64_t at = x.shape().normalize_axis(axis, "batch_normalization");
  for (const Tensor& vector : {mean, variance, options.scale, options.offset}) {
    if (!vector.defined()) continue;
    check<InvalidArgument>(vector.rank() == 1 && vector.shape()[0] == x.shape()[at],
                           "batch_normalization: expected vectors of {} elements, got shape {}.",
                           x.shape()[at], vector.shape());
  }
  return with_weights<"batch_normalization", false>(
      {x, mean, variance}, options.scale, options.offset,
      {{"axis", at}, {"epsilon", options.epsilon}},
      [&](const std::vector<Tensor>& in, const Tensor& scale, const Tensor& offset) {
        const auto aligned = [&](const Tensor& vector) { return over_axes(vector, in[0], {at}); };
        Tensor factor = rsqrt(in[2] + options.epsilon);
        if (scale.defined()) factor = factor * scale;
        // Expanded to x * factor + shift, where factor and shift are small vectors.
        Tensor shift = -in[1] * factor;
        if (offset.defined()) shift = shift + offset;
        return in[0] * aligned(factor) + aligned(shift);
      });
}

Tensor layer_normalization(const Tensor& x, const LayerNormalizationOptions& options) {
  const ErrorPlace scope("layer_normalization");
  const auto axes = options.axis.normalized(x.shape(), "layer_normalization");
  return with_weights<"layer_normalization", true>(
      {x}, options.gamma, options.beta, {{"axes", axes}, {"epsilon", options.epsilon}},
      [&](const std::vector<Tensor>& in, const Tensor& scale, const Tensor& shift) {
        const Tensor& v = in[0];
        const auto [mean, variance] = moments(v, axes, true);
        Tensor result = (v - mean) * rsqrt(variance + options.epsilon);
        if (scale.defined()) result = result * over_axes(scale, v, axes);
        if (shift.defined()) result = result + over_axes(shift, v, axes);
        return result;
      });
}

Tensor rms_normalization(const Tensor& x, const RmsNormalizationOptions& options) {
  const ErrorPlace scope("rms_normalization");
  const auto axes = options.axis.normalized(x.shape(), "rms_normalization");
  return with_weights<"rms_normalization", true>(
      {x}, options.scale, {}, {{"axes", axes}, {"epsilon", options.epsilon}},
      [&](const std::vector<Tensor>& in, const Tensor& scale, const Tensor&) {
        const Tensor& v = in[0];
        const Tensor result = v * rsqrt(mean(square(v), axes, true) + options.epsilon);
        return scale.defined() ? result * over_axes(scale, v, axes) : result;
      });
}

Tensor normalize(const Tensor& x, const NormalizeOptions& options) {
  const ErrorPlace scope("normalize");
  check<InvalidArgument>(options.order >= 1, "normalize: expected an order from 1, got {}.",
                         options.order);
  const auto axes = options.axis.normalized(x.shape(), "normalize");
  Tensor norm;
  if (options.order == 2) {  // avoids differentiating a root at 0
    return x * rsqrt(maximum(sum(square(x), axes, true), options.epsilon * options.epsilon));
  } else if (std::isinf(options.order)) {
    norm = max(abs(x), axes, true);
  } else {
    norm = power(sum(power(abs(x), options.order), axes, true), 1 / options.order);
  }
  return x / maximum(norm, options.epsilon);
}

}  // namespace cornu::ops
