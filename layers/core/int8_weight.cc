// SPDX-License-Identifier: Apache-2.0
#include "layers/core/int8_weight.h"

#include <algorithm>

#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> places(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return places;
}

// A weight's shape, with 1 along the axes that share a scale.
Shape with_ones(Shape shape, const std::vector<int64_t>& axes) {
  for (const int64_t axis : axes) shape[axis] = 1;
  return shape;
}

// The same without these axes.
Shape without(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape rest;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) rest.push_back(shape[axis]);
  }
  return rest;
}

}  // namespace

Tensor ScaleLayout::from_quantizer(const Tensor& scale) const {
  const Tensor rest = ops::reshape(scale, without(scale.shape(), summed));
  return ops::reshape(ops::transpose(rest, order), shape);
}

Tensor ScaleLayout::for_weight(const Tensor& scale, const Shape& weight) const {
  const Shape rest = without(weight, summed);
  Shape moved;
  for (const int64_t axis : order) moved.push_back(rest[axis]);
  const Tensor back = ops::transpose(ops::reshape(scale, moved), inverse(order));
  return ops::reshape(back, with_ones(weight, summed));
}

Tensor ScaleLayout::dequantized(const Quantized& weight, DType dtype) const {
  const Tensor scale = for_weight(ops::cast(weight.scale, dtype), weight.values.shape());
  return ops::divide(ops::cast(weight.values, dtype), scale);
}

Int8Product Int8Product::of_rows(bool transposed) {
  const auto times = [](bool transpose) {
    return [transpose](const Tensor& rows, const Tensor& matrix) {
      return ops::matmul(rows, matrix, {.transpose_x2 = transpose});
    };
  };
  return {.multiply = times(transposed),
          .gradient = times(!transposed),
          .summed = {-1},
          .aligned = [](const Tensor& scale) { return scale; }};
}

Tensor Int8Weight::rows_at(const Tensor& indices) const {
  const Tensor scale = ops::expand_dims(ops::take(scale_, indices, 0), -1);
  return ops::divide(ops::cast(ops::take(values_, indices, 0), scale.dtype()), scale);
}

Tensor Int8Weight::product(const Tensor& x, const Quantizer& activation,
                           const Int8Product& how) const {
  const Quantized weight{values_, scale_};
  const auto multiplied = ops::custom_gradient([&](const Tensor& input) {
    const DType dtype = input.dtype();
    Tensor scale = ops::cast(weight.scale, dtype);
    Tensor y;
    if (activation) {
      const Quantized quantized = (*activation)(input, how.summed);
      y = how.multiply(quantized.values, weight.values);
      scale = ops::multiply(scale, how.aligned(quantized.scale));
    } else {
      y = how.multiply(input, ops::cast(weight.values, dtype));
    }
    return std::pair{ops::divide(ops::cast(y, dtype), scale), [&](const Tensor& upstream) {
                       return how.gradient(upstream, layout_.dequantized(weight, upstream.dtype()));
                     }};
  });
  return multiplied(x);
}

void Int8Weight::store(const Quantized& quantized) const {
  values_.store(quantized.values);
  scale_.store(ops::cast(layout_.from_quantizer(quantized.scale), scale_.dtype()));
}

std::vector<Variable> Int8Parts::saved_weights(std::vector<Variable> own) const {
  if (lora_) own = lora_->saved_weights(std::move(own));
  std::stable_partition(own.begin(), own.end(), [&](const Variable& weight) {
    return weight.id() == weight_.values().id();
  });
  return own;
}

Tensor Int8Parts::saved_value(const Variable& weight) const {
  const bool is_values = weight.id() == weight_.values().id();
  if (!lora_ || (!is_values && weight.id() != weight_.scale().id())) return weight.stored();
  const ScaleLayout& layout = weight_.layout();
  const Quantized merged = quantizers::abs_max_quantize(
      layout.dequantized({weight_.values().stored(), weight_.scale().stored()},
                         weight_.scale().dtype()) +
          lora_->added_in_file(),
      {.axis = layout.summed});
  if (is_values) return merged.values;
  return ops::cast(layout.from_quantizer(merged.scale), weight.dtype());
}

void Int8Parts::weights_loaded() {
  if (lora_) lora_->weights_loaded();
}

Quantized quantized_weight(const Tensor& weight, const Quantizer& quantizer,
                           const ScaleLayout& layout, const std::string& who) {
  if (!quantizer) return quantizers::abs_max_quantize(weight, {.axis = layout.summed});
  const Quantized made = (*quantizer)(weight, {});
  const Shape scales = with_ones(weight.shape(), layout.summed);
  check<InvalidArgument>(
      made.values.dtype() == DType::Int8 && made.values.shape() == weight.shape(),
      "{}: expected a weight_quantizer that makes int8 of shape {}, got {} of "
      "shape {}.",
      who, weight.shape(), made.values.dtype(), made.values.shape());
  check<InvalidArgument>(made.scale.shape() == scales,
                         "{}: expected a weight_quantizer that gives scales of shape {}, got {}. "
                         "Give it the axes that the layer sums over: axis = {}.",
                         who, scales, made.scale.shape(), Shape(layout.summed));
  return made;
}

}  // namespace cornu::layers
