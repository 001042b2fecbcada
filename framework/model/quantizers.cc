// SPDX-License-Identifier: Apache-2.0
#include "framework/model/quantizers.h"

#include <tuple>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/model/register.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"

namespace cornu::quantizers {
namespace {

constexpr const char* kInt8Config = "Int8QuantizationConfig";

void check_range(const AbsMaxQuantizerOptions& options) {
  const auto [low, high] = options.value_range;
  const DType dtype = options.output_dtype;
  check<InvalidArgument>(is_integer(dtype),
                         "AbsMaxQuantizer: expected an output_dtype of integers, got {}.", dtype);
  check<InvalidArgument>(low < high && high > 0,
                         "AbsMaxQuantizer: expected a value_range (low, high) with low < high and "
                         "high > 0, got ({}, {}).",
                         low, high);
  for (const auto& [small, least, most] :
       {std::tuple(DType::Int8, -128, 127), std::tuple(DType::UInt8, 0, 255)}) {
    check<InvalidArgument>(dtype != small || (low >= least && high <= most),
                           "AbsMaxQuantizer: expected a value_range within ({}, {}) for {}, got "
                           "({}, {}).",
                           least, most, small, low, high);
  }
}

}  // namespace

Quantized abs_max_quantize(const Tensor& inputs, const AbsMaxQuantizerOptions& options) {
  check_range(options);
  check<InvalidArgument>(is_floating(inputs.dtype()),
                         "abs_max_quantize: expected floating-point numbers, got {}. Cast them "
                         "first, with ops::cast.",
                         inputs.dtype());
  const auto [low, high] = options.value_range;
  const std::vector<int64_t> axes = options.axis.value_or(std::vector<int64_t>{-1});
  const Tensor largest = ops::max(ops::abs(inputs), axes, true);
  const Tensor scale = ops::divide(high, ops::add(largest, options.epsilon));
  const Tensor rounded = ops::round(ops::multiply(inputs, scale));
  return {ops::cast(ops::clip(rounded, low, high), options.output_dtype), scale};
}

AbsMaxQuantizer::AbsMaxQuantizer(const AbsMaxQuantizerOptions& options) : options_(options) {
  check_range(options);
}

Quantized AbsMaxQuantizer::operator()(const Tensor& x, const OptionalList<int64_t>& axis) const {
  AbsMaxQuantizerOptions options = options_;
  if (axis) options.axis = axis;
  return abs_max_quantize(x, options);
}

Json AbsMaxQuantizer::get_config() const {
  const auto [low, high] = options_.value_range;
  Json config = Json::object({{"value_range", Json(std::vector<int64_t>{low, high})},
                              {"epsilon", options_.epsilon},
                              {"output_dtype", to_string(options_.output_dtype)}});
  if (options_.axis) config.set("axis", Json(*options_.axis));
  return config;
}

namespace {

Quantizer abs_max_quantizer_from(const Json& config) {
  AbsMaxQuantizerOptions options;
  std::vector<int64_t> range;
  std::string dtype;
  ConfigReader reader(config);
  if (const Json* axis = config.find("axis"); axis && !axis->is_null()) {
    set_from_config(*axis, options.axis.emplace());
  }
  reader("value_range", range);
  reader("epsilon", options.epsilon);
  reader("output_dtype", dtype);
  check<InvalidArgument>(range.empty() || range.size() == 2,
                         "AbsMaxQuantizer: expected a value_range of two numbers, got {} of them.",
                         range.size());
  if (!range.empty()) options.value_range = {range[0], range[1]};
  if (!dtype.empty()) options.output_dtype = dtype_from_string(dtype);
  return AbsMaxQuantizer(options);
}

}  // namespace

void register_all(Registry<QuantizerFactory>& registry) {
  registry.add("AbsMaxQuantizer", abs_max_quantizer_from);
}

Json config_value(const Int8QuantizationConfig& config) {
  return serialized_form(
      "keras.quantizers", kInt8Config,
      Json::object({{"weight_quantizer", serialize(config.weight_quantizer)},
                    {"activation_quantizer", serialize(config.activation_quantizer)}}));
}

void set_from_config(const Json& json, Int8QuantizationConfig& config) {
  const SerializedObject object = read_serialized(json, "quantization_config");
  check<Unimplemented>(object.name == kInt8Config,
                       "Config: expected a quantization_config of the class {}, got {}: only int8 "
                       "is available here. Quantize the model with quantize(\"int8\") in Keras.",
                       kInt8Config, printable(object.name));
  config = {.weight_quantizer = quantizer_from_json(object.config.at("weight_quantizer")),
            .activation_quantizer = quantizer_from_json(object.config.at("activation_quantizer"))};
}

}  // namespace cornu::quantizers
