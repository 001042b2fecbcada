// SPDX-License-Identifier: Apache-2.0
// Quantizers (keras.quantizers), and what layers are quantized with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/dtype.h"
#include "framework/core/optional_list.h"
#include "framework/core/shape.h"
#include "framework/model/parts.h"

namespace cornu::quantizers {

// Keras's arguments of AbsMaxQuantizer.
struct AbsMaxQuantizerOptions {
  OptionalList<int64_t> axis = {};  // the axes whose elements share a scale; None: the last one
  std::pair<int64_t, int64_t> value_range = {-127, 127};  // the least and the largest integer
  double epsilon = 1e-7;                                  // so that zeros have a scale
  DTypeLike output_dtype = DType::Int8;
};

// scale = value_range.second / (max(|x|) + epsilon) along the axes, of x's dtype;
// values = x * scale, rounded to the nearest integer (half to even), clipped to value_range.
// keras.quantizers.abs_max_quantize, but for `to_numpy`, which says where to compute. Gradients
// reach x by the scale alone. InvalidArgument for x that isn't of floating-point numbers, and where
// value_range is empty or doesn't fit the dtype; OutOfRange for an axis that x hasn't.
Quantized abs_max_quantize(const Tensor& inputs, const AbsMaxQuantizerOptions& options = {});

// abs_max_quantize as an object. An axis that its call is given goes before its own.
class AbsMaxQuantizer : public QuantizerImpl {
 public:
  explicit AbsMaxQuantizer(const AbsMaxQuantizerOptions& options = {});
  Quantized operator()(const Tensor& x, const OptionalList<int64_t>& axis) const override;
  std::string class_name() const override { return "AbsMaxQuantizer"; }
  Json get_config() const override;

 private:
  AbsMaxQuantizerOptions options_;
};

// ---- int4: numbers in [-8, 7] ----

// Two int4 numbers in each byte, and what is known of the tensor that they come from.
struct PackedInt4 {
  Tensor packed;       // of the dtype that was packed
  Shape packed_shape;  // its shape: the axis has half as many elements, rounded up
  int64_t orig_len;    // how many the axis had
};

// keras.quantizers.pack_int4: of two elements that follow each other along `axis`, the first is the
// lower half of a byte, the second its upper one; an odd one at the end has a zero beside it. Of
// larger numbers the lower four bits are taken. InvalidArgument unless x is of `dtype`, int8, or
// uint8 for numbers in [0, 15]; OutOfRange for an axis that x hasn't.
PackedInt4 pack_int4(const Tensor& x, int64_t axis = 0, DTypeLike dtype = DType::Int8);

// keras.quantizers.unpack_int4: the orig_len numbers along `axis` that were packed, as `dtype`:
// int8 in [-8, 7], or uint8 in [0, 15]. InvalidArgument for other dtypes, and for an orig_len that
// the bytes don't hold; OutOfRange for an axis that `packed` hasn't.
Tensor unpack_int4(const Tensor& packed, int64_t orig_len, int64_t axis = 0,
                   DTypeLike dtype = DType::Int8);

// What a matrix is about: (values - zero_point) * scale.
struct QuantizedGroups {
  Tensor values;      // integers, of the matrix's shape
  Tensor scale;       // (groups, columns), of its dtype
  Tensor zero_point;  // (groups, columns), of int8
};

// Keras's further arguments of abs_max_quantize_grouped_with_zero_point.
struct GroupedQuantizeOptions {
  std::pair<int64_t, int64_t> value_range = {-8, 7};  // the least and the largest integer
  DTypeLike dtype = DType::Int8;
  double epsilon = 1e-7;  // so that groups of one number have a scale
};

// keras.quantizers.abs_max_quantize_grouped_with_zero_point, as layers use it (`to_numpy`): of a
// matrix, block_size rows at a time, the last of which may be fewer, with zeros beside them. A
// group of a column becomes integers from its least to its largest number; where these have one
// sign, those far from zero are clipped. InvalidArgument for what is no matrix of floating-point
// numbers, for block_size < 1 and an empty value_range or one that the dtype hasn't.
QuantizedGroups abs_max_quantize_grouped_with_zero_point(
    const Tensor& inputs, int64_t block_size, const GroupedQuantizeOptions& options = {});

// ---- configs ----

// keras.quantizers.Int8QuantizationConfig: how a layer's weights become int8, and what multiplies
// them.
//
// A weight_quantizer of one's own must give int8, and a scale for each output of the product; it
// is used once, by quantize. An activation_quantizer is used in each call, and told the axes that
// the product sums over.
struct Int8QuantizationConfig {
  Quantizer weight_quantizer = {};  // None: AbsMaxQuantizer, along the axes that are summed over
  Quantizer activation_quantizer = AbsMaxQuantizer();  // None: only weights are int8
};

// keras.quantizers.Int4QuantizationConfig: how a layer's weights become int4.
//
// With a block_size, so many elements along the axes that the product sums over share a scale and a
// number that stands for zero, and no quantizers are taken. Without (None, or -1), each output has
// a scale; a weight_quantizer gives these, and int8 within [-8, 7].
struct Int4QuantizationConfig {
  Quantizer weight_quantizer = {};  // None: AbsMaxQuantizer, along the axes that are summed over
  Quantizer activation_quantizer = {};  // None: only weights are int4
  std::optional<int64_t> block_size = 128;
};

}  // namespace cornu::quantizers

namespace cornu {

// A layer's quantization_config, one of those above or None; Keras's other modes aren't available.
class QuantizationConfig {
 public:
  QuantizationConfig() = default;                                        // None
  QuantizationConfig(const quantizers::Int8QuantizationConfig& config);  // NOLINT
  // InvalidArgument for a block_size that is neither > 0 nor -1, for one > 0 with quantizers, and
  // for a weight_quantizer whose config says another value_range than (-8, 7).
  QuantizationConfig(const quantizers::Int4QuantizationConfig& config);  // NOLINT

  explicit operator bool() const { return !mode_.empty(); }
  const std::string& mode() const { return mode_; }  // "int8", "int4"; None: empty
  const Quantizer& weight_quantizer() const { return weight_quantizer_; }
  const Quantizer& activation_quantizer() const { return activation_quantizer_; }
  std::optional<int64_t> block_size() const { return block_size_; }  // as it was given

 private:
  std::string mode_;
  Quantizer weight_quantizer_;
  Quantizer activation_quantizer_;
  std::optional<int64_t> block_size_;
};

// Keras's serialized form, and back, as an option of a layer. Unimplemented for Keras's configs of
// other modes.
Json config_value(const QuantizationConfig& config);
void set_from_config(const Json& json, QuantizationConfig& config);

}  // namespace cornu
