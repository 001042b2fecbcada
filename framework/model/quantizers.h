// SPDX-License-Identifier: Apache-2.0
// Quantizers (keras.quantizers), and what layers are quantized with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/dtype.h"
#include "framework/core/optional_list.h"
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

// Keras's serialized form, and back, as an option of a layer. Unimplemented for Keras's configs of
// other modes.
Json config_value(const Int8QuantizationConfig& config);
void set_from_config(const Json& json, Int8QuantizationConfig& config);

}  // namespace cornu::quantizers

namespace cornu {

// A layer's quantization_config; Keras's other modes aren't available.
using QuantizationConfig = std::optional<quantizers::Int8QuantizationConfig>;

}  // namespace cornu
