// SPDX-License-Identifier: Apache-2.0
#include "layers/core/quantized_weight.h"

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

// A weight's shape with size 1 along the axes that share a scale.
Shape with_ones(Shape shape, const std::vector<int64_t>& axes) {
  for (const int64_t axis : axes) shape[axis] = 1;
  return shape;
}

// The shape without these axes.
Shape without(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape rest;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) rest.push_back(shape[axis]);
  }
  return rest;
}

// Quantizes a weight with `quantizer` (None: AbsMaxQuantizer with this range). Throws
// InvalidArgument, naming `who`, unless the result is int8 with scales of this layout.
Quantized quantize(const Tensor& weight, const Quantizer& quantizer, const ScaleLayout& scales,
                   std::pair<int64_t, int64_t> range, const std::string& who) {
  if (!quantizer) {
    return quantizers::abs_max_quantize(weight, {.axis = scales.summed, .value_range = range});
  }
  const Quantized made = (*quantizer)(weight, {});
  const Shape expected = with_ones(weight.shape(), scales.summed);
  check<InvalidArgument>(
      made.values.dtype() == DType::Int8 && made.values.shape() == weight.shape(),
      "{}: expected a weight_quantizer that makes int8 of shape {}, got {} of "
      "shape {}.",
      who, weight.shape(), made.values.dtype(), made.values.shape());
  check<InvalidArgument>(made.scale.shape() == expected,
                         "{}: expected a weight_quantizer that gives scales of shape {}, got {}. "
                         "Give it the axes that the layer sums over: axis = {}.",
                         who, expected, made.scale.shape(), Shape(scales.summed));
  return made;
}

// For integers with an axis divided into blocks, each of which has a scale.
Tensor dequantized(const Tensor& integers, const EncodedWeight& encoded, int64_t block_size,
                   int64_t axis, DType dtype) {
  const Shape& shape = integers.shape();
  const int64_t size = shape[axis], blocks = encoded.scale.dim(axis);
  if (blocks == 1) block_size = size;
  std::vector<std::pair<int64_t, int64_t>> width(static_cast<size_t>(shape.rank()));
  width[static_cast<size_t>(axis)].second = blocks * block_size - size;
  const Tensor whole = blocks * block_size == size ? integers : ops::pad(integers, width);
  const Shape in_blocks =
      shape.slice(0, axis).concat({blocks, block_size}).concat(shape.slice(axis + 1));
  const auto of_blocks = [&](const Tensor& x) {
    return ops::expand_dims(ops::cast(x, dtype), axis + 1);
  };
  const Tensor numbers = ops::cast(ops::reshape(whole, in_blocks), dtype);
  const Tensor scaled = ops::multiply(ops::subtract(numbers, of_blocks(encoded.zero_point)),
                                      of_blocks(encoded.scale));
  return ops::slice_axis(ops::reshape(scaled, whole.shape()), axis, 0, size);
}

Tensor transposed_if(bool turned, const Tensor& x) { return turned ? ops::transpose(x) : x; }

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

WeightForm WeightForm::int8(const Shape& weight, const ScaleLayout& scales) {
  return {weight, scales};
}

WeightForm WeightForm::int4(const Shape& weight, const ScaleLayout& scales,
                            const Int4Layout& layout, std::optional<int64_t> block_size) {
  WeightForm form(weight, scales);
  form.is_int4_ = true;
  form.layout_ = layout;
  form.block_size_ = block_size.value_or(-1);
  if (!layout.matrix.empty()) {
    form.matrix_ = layout.matrix;
    form.scales_ = {
        .summed = {layout.summed}, .order = {0}, .shape = {layout.matrix[1 - layout.summed]}};
  }
  form.scales_outputs_ = layout.matrix.empty() && !form.in_blocks();
  return form;
}

Shape WeightForm::values_shape() const {
  Shape shape = matrix_;
  if (is_int4_) shape[layout_.packed] = (shape[layout_.packed] + 1) / 2;
  return shape;
}

Shape WeightForm::scale_shape() const {
  if (!in_blocks()) return scales_.shape;
  Shape shape = matrix_;
  int64_t& size = shape[layout_.summed];
  size = size / block_size_ + (size % block_size_ > 0 ? 1 : 0);
  return shape;
}

Tensor WeightForm::block_numbers() const {
  const Tensor places = ops::arange(matrix_[layout_.summed], DType::Int64);
  return ops::cast(ops::floor_divide(places, block_size_), DType::Float32);
}

EncodedWeight WeightForm::encode(const Tensor& weight, const Quantizer& quantizer,
                                 const std::string& who) const {
  if (!is_int4_) {
    const Quantized made = quantize(weight, quantizer, scales_, {-127, 127}, who);
    return {made.values, scales_.from_quantizer(made.scale)};
  }
  // The scale of zeros is out of float16's range.
  const bool is_half = weight.dtype() == DType::Float16;
  const Tensor matrix = ops::reshape(is_half ? ops::cast(weight, DType::Float32) : weight, matrix_);
  const auto packed = [&](const Tensor& values) {
    return quantizers::pack_int4(values, layout_.packed).packed;
  };
  if (!in_blocks()) {
    const Quantized made = quantize(matrix, quantizer, scales_, {-8, 7}, who);
    for (const int8_t value : made.values.to_vector<int8_t>()) {
      check<InvalidArgument>(value >= -8 && value <= 7,
                             "{}: expected a weight_quantizer that makes numbers within (-8, 7), "
                             "got {}.",
                             who, value);
    }
    return {packed(made.values), scales_.from_quantizer(made.scale)};
  }
  const bool turned = layout_.summed == 1;
  const auto made = quantizers::abs_max_quantize_grouped_with_zero_point(
      transposed_if(turned, matrix), block_size_);
  return {packed(transposed_if(turned, made.values)), transposed_if(turned, made.scale),
          transposed_if(turned, made.zero_point)};
}

Tensor WeightForm::integers(const Tensor& values) const {
  if (!is_int4_) return values;
  // Counted from the end: the values may be rows looked up at any indices.
  return quantizers::unpack_int4(values, matrix_[layout_.packed], layout_.packed - 2);
}

Tensor WeightForm::decode(const EncodedWeight& encoded, DType dtype) const {
  const Tensor numbers = integers(encoded.values);
  if (in_blocks()) {
    return ops::reshape(dequantized(numbers, encoded, block_size_, layout_.summed, dtype), weight_);
  }
  const Tensor scale = scales_.for_weight(ops::cast(encoded.scale, dtype), matrix_);
  return ops::reshape(ops::divide(ops::cast(numbers, dtype), scale), weight_);
}

Tensor WeightForm::decode_rows(const EncodedWeight& rows, DType dtype) const {
  const Tensor numbers = integers(rows.values);
  if (in_blocks()) return dequantized(numbers, rows, block_size_, numbers.rank() - 1, dtype);
  return ops::divide(ops::cast(numbers, dtype), ops::expand_dims(ops::cast(rows.scale, dtype), -1));
}

QuantizedProduct QuantizedProduct::of_rows(bool transposed) {
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

std::vector<Variable> QuantizedWeight::variables() const {
  std::vector<Variable> all = {values_, scale_};
  if (zero_point_.defined()) all.push_back(zero_point_);
  return all;
}

bool QuantizedWeight::has(const Variable& variable) const {
  return std::ranges::any_of(variables(),
                             [&](const Variable& own) { return own.id() == variable.id(); });
}

Tensor QuantizedWeight::rows_at(const Tensor& indices) const {
  const auto rows = [&](const Variable& variable) { return ops::take(variable, indices, 0); };
  return form_.decode_rows(encoded(rows), scale_.dtype());
}

Tensor QuantizedWeight::product(const Tensor& x, const Quantizer& activation,
                                const QuantizedProduct& how) const {
  const auto value = [](const Variable& variable) { return variable.value(); };
  const auto multiplied = ops::custom_gradient([&](const Tensor& input) {
    const DType dtype = input.dtype();
    const Quantized quantized = activation ? (*activation)(input, how.summed) : Quantized();
    Tensor left = activation ? quantized.values : input;
    Tensor right =
        form_.scales_outputs() ? form_.integers(values_) : form_.decode(encoded(value), dtype);
    if (left.dtype() != right.dtype()) {
      left = ops::cast(left, dtype);
      right = ops::cast(right, dtype);
    }
    Tensor y = ops::cast(how.multiply(left, right), dtype);
    Tensor scale = form_.scales_outputs() ? ops::cast(scale_, dtype) : Tensor();
    if (activation) {
      const Tensor of_input = how.aligned(quantized.scale);
      scale = scale.defined() ? ops::multiply(scale, of_input) : of_input;
    }
    if (scale.defined()) y = ops::divide(y, scale);
    return std::pair{y, [&](const Tensor& upstream) {
                       return how.gradient(upstream,
                                           form_.decode(encoded(value), upstream.dtype()));
                     }};
  });
  return multiplied(x);
}

Tensor QuantizedWeight::stored() const {
  return form_.decode(encoded([](const Variable& variable) { return variable.stored(); }),
                      scale_.dtype());
}

void QuantizedWeight::store(const EncodedWeight& encoded) const {
  values_.store(encoded.values);
  scale_.store(ops::cast(encoded.scale, scale_.dtype()));
  if (zero_point_.defined()) {
    zero_point_.store(ops::cast(encoded.zero_point, zero_point_.dtype()));
  }
}

std::vector<Variable> QuantizedParts::saved_weights(std::vector<Variable> own) const {
  if (lora_) own = lora_->saved_weights(std::move(own));
  std::stable_partition(own.begin(), own.end(), [&](const Variable& weight) {
    return weight.id() == weight_.values().id();
  });
  return own;
}

Tensor QuantizedParts::saved_value(const Variable& weight) const {
  if (!lora_ || !weight_.has(weight)) return weight.stored();
  const EncodedWeight merged =
      weight_.form().encode(weight_.stored() + lora_->added_in_file(), {}, weight.path());
  if (weight.id() == weight_.values().id()) return merged.values;
  const bool is_scale = weight.id() == weight_.scale().id();
  return ops::cast(is_scale ? merged.scale : merged.zero_point, weight.dtype());
}

void QuantizedParts::weights_loaded() {
  if (lora_) lora_->weights_loaded();
  if (!blocks_.defined()) return;
  const Tensor expected = weight_.form().block_numbers();
  check<InvalidArgument>(ops::all(ops::equal(blocks_.stored(), expected)).item<bool>(),
                         "{}: expected the number of each element's block, in order, from a file, "
                         "got others. Quantize the model with quantize(\"int4\"), which makes such "
                         "blocks.",
                         blocks_.path());
}

}  // namespace cornu::layers
