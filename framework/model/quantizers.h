// SPDX-License-Identifier: Apache-2.0
// Quantizers (keras.quantizers) and the quantization configs of layers.
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

// Arguments of AbsMaxQuantizer, as in Keras.
struct AbsMaxQuantizerOptions {
  OptionalList<int64_t> axis = {};  // the axes whose elements share a scale; None: the last one
  std::pair<int64_t, int64_t> value_range = {-127, 127};  // the smallest and largest integer
  double epsilon = 1e-7;                                  // gives zeros a finite scale
  DTypeLike output_dtype = DType::Int8;
};

// scale = value_range.second / (max(|x|) + epsilon) along the axes, with x's dtype; values = x *
// scale, rounded to the nearest integer (half to even) and clipped to value_range. Like
// keras.quantizers.abs_max_quantize, without `to_numpy`, which selects where to compute. Gradients
// flow to x through the scale only. Throws InvalidArgument when x isn't floating point, or when
// value_range is empty or doesn't fit the dtype; OutOfRange for an axis that x doesn't have.
Quantized abs_max_quantize(const Tensor& inputs, const AbsMaxQuantizerOptions& options = {});

// abs_max_quantize as an object. An axis passed to the call overrides the one in the options.
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

// Two int4 numbers per byte, and the shape information needed to unpack them.
struct PackedInt4 {
  Tensor packed;       // with the dtype that was packed
  Shape packed_shape;  // the shape of `packed`: the axis has half as many elements, rounded up
  int64_t orig_len;    // size of the axis before packing
};

// keras.quantizers.pack_int4: of two consecutive elements along `axis`, the first goes into the
// lower half of a byte and the second into the upper half; an odd last element is paired with a
// zero. Only the lower four bits of larger numbers are kept. Throws InvalidArgument unless x has
// dtype `dtype`, which is int8, or uint8 for numbers in [0, 15]; OutOfRange for an axis that x
// doesn't have.
PackedInt4 pack_int4(const Tensor& x, int64_t axis = 0, DTypeLike dtype = DType::Int8);

// keras.quantizers.unpack_int4: returns the orig_len packed numbers along `axis` as `dtype`: int8
// in [-8, 7], or uint8 in [0, 15]. Throws InvalidArgument for other dtypes and for an orig_len that
// exceeds the packed data; OutOfRange for an axis that `packed` doesn't have.
Tensor unpack_int4(const Tensor& packed, int64_t orig_len, int64_t axis = 0,
                   DTypeLike dtype = DType::Int8);

// A quantized matrix, approximately (values - zero_point) * scale.
struct QuantizedGroups {
  Tensor values;      // integers, with the matrix's shape
  Tensor scale;       // (groups, columns), with the matrix's dtype
  Tensor zero_point;  // (groups, columns), int8
};

// Further arguments of abs_max_quantize_grouped_with_zero_point, as in Keras.
struct GroupedQuantizeOptions {
  std::pair<int64_t, int64_t> value_range = {-8, 7};  // the smallest and largest integer
  DTypeLike dtype = DType::Int8;
  double epsilon = 1e-7;  // gives groups of a single value a finite scale
};

// keras.quantizers.abs_max_quantize_grouped_with_zero_point, as layers use it (`to_numpy`):
// quantizes a matrix in groups of block_size rows; the last group may be smaller and is padded with
// zeros. Each column of a group is mapped to integers from its smallest to its largest number; if
// all have the same sign, values far from zero are clipped. Throws InvalidArgument for anything but
// a matrix of floating-point numbers, for block_size < 1, and for a value_range that is empty or
// doesn't fit the dtype.
QuantizedGroups abs_max_quantize_grouped_with_zero_point(
    const Tensor& inputs, int64_t block_size, const GroupedQuantizeOptions& options = {});

// ---- configs ----

// keras.quantizers.Int8QuantizationConfig: how a layer's weights, and the activations that multiply
// them, are quantized to int8.
//
// A custom weight_quantizer must return int8 values and one scale per output of the product;
// quantize uses it once. An activation_quantizer is used in each call and receives the axes that
// the product sums over.
struct Int8QuantizationConfig {
  Quantizer weight_quantizer = {};  // None: AbsMaxQuantizer along the summed axes
  Quantizer activation_quantizer = AbsMaxQuantizer();  // None: only weights are int8
};

// keras.quantizers.Int4QuantizationConfig: how a layer's weights are quantized to int4.
//
// With a block_size, that many elements along the axes that the product sums over share a scale and
// a zero point, and quantizers aren't allowed. Without one (None, or -1), each output has its own
// scale; a weight_quantizer must return such scales, and int8 values in [-8, 7].
struct Int4QuantizationConfig {
  Quantizer weight_quantizer = {};      // None: AbsMaxQuantizer along the summed axes
  Quantizer activation_quantizer = {};  // None: only weights are int4
  std::optional<int64_t> block_size = 128;
};

}  // namespace cornu::quantizers

namespace cornu {

// A layer's quantization_config: one of the configs above or None. Keras's other modes aren't
// available.
class QuantizationConfig {
 public:
  QuantizationConfig() = default;                                        // None
  QuantizationConfig(const quantizers::Int8QuantizationConfig& config);  // NOLINT
  // Throws InvalidArgument for a block_size that is neither positive nor -1, for a positive one
  // with quantizers, and for a weight_quantizer whose config has a value_range other than (-8, 7).
  QuantizationConfig(const quantizers::Int4QuantizationConfig& config);  // NOLINT

  explicit operator bool() const { return !mode_.empty(); }
  const std::string& mode() const { return mode_; }  // "int8", "int4"; None: empty
  const Quantizer& weight_quantizer() const { return weight_quantizer_; }
  const Quantizer& activation_quantizer() const { return activation_quantizer_; }
  std::optional<int64_t> block_size() const { return block_size_; }  // as passed

 private:
  std::string mode_;
  Quantizer weight_quantizer_;
  Quantizer activation_quantizer_;
  std::optional<int64_t> block_size_;
};

// Converts to and from Keras's serialized form, as a layer option. Throws Unimplemented for Keras's
// configs of other modes.
Json config_value(const QuantizationConfig& config);
void set_from_config(const Json& json, QuantizationConfig& config);

}  // namespace cornu
