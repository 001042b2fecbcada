// SPDX-License-Identifier: Apache-2.0
#include "framework/model/quantizers.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/model/register.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"

namespace cornu::quantizers {
namespace {

void check_range(std::string_view who, DType dtype, std::pair<int64_t, int64_t> range) {
  const auto [low, high] = range;
  check<InvalidArgument>(is_integer(dtype), "{}: expected an output_dtype of integers, got {}.",
                         who, dtype);
  check<InvalidArgument>(low < high && high > 0,
                         "{}: expected a value_range (low, high) with low < high and high > 0, got "
                         "({}, {}).",
                         who, low, high);
  for (const auto& [small, least, most] :
       {std::tuple(DType::Int8, -128, 127), std::tuple(DType::UInt8, 0, 255)}) {
    check<InvalidArgument>(dtype != small || (low >= least && high <= most),
                           "{}: expected a value_range within ({}, {}) for {}, got ({}, {}).", who,
                           least, most, small, low, high);
  }
}

void check_range(const AbsMaxQuantizerOptions& options) {
  check_range("AbsMaxQuantizer", options.output_dtype, options.value_range);
}

void check_bytes(const char* who, DType dtype) {
  check<InvalidArgument>(dtype == DType::Int8 || dtype == DType::UInt8,
                         "{}: expected int8 or uint8, got {}.", who, dtype);
}

// Returns the shape in which an axis of 2 * `pairs` elements is split into axes of sizes `pairs`
// and 2.
Shape in_pairs(const Shape& shape, int64_t axis, int64_t pairs) {
  return shape.slice(0, axis).concat({pairs, 2}).concat(shape.slice(axis + 1));
}

// Pads an axis of x with trailing zeros to `size` elements.
Tensor padded(const Tensor& x, int64_t axis, int64_t size) {
  if (x.dim(axis) == size) return x;
  std::vector<std::pair<int64_t, int64_t>> width(static_cast<size_t>(x.rank()));
  width[static_cast<size_t>(axis)].second = size - x.dim(axis);
  return ops::pad(x, width);
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

PackedInt4 pack_int4(const Tensor& x, int64_t axis, DTypeLike dtype) {
  check_bytes("pack_int4", dtype);
  check<InvalidArgument>(x.dtype() == dtype,
                         "pack_int4: expected numbers of {}, got {}. Cast them first, with "
                         "ops::cast.",
                         DType(dtype), x.dtype());
  axis = x.shape().normalize_axis(axis, "pack_int4");
  const int64_t size = x.dim(axis), pairs = (size + 1) / 2;
  const Tensor halves = ops::reshape(padded(x, axis, 2 * pairs), in_pairs(x.shape(), axis, pairs));
  const std::vector<Tensor> half = ops::unstack(halves, axis + 1);
  const Tensor packed = ops::bitwise_or(ops::bitwise_and(half[0], 15), ops::left_shift(half[1], 4));
  return {packed, packed.shape(), size};
}

Tensor unpack_int4(const Tensor& packed, int64_t orig_len, int64_t axis, DTypeLike dtype) {
  check_bytes("unpack_int4", dtype);
  check_bytes("unpack_int4", packed.dtype());
  axis = packed.shape().normalize_axis(axis, "unpack_int4");
  const int64_t pairs = packed.dim(axis);
  check<InvalidArgument>(
      orig_len >= 0 && orig_len <= 2 * pairs,
      "unpack_int4: expected an orig_len in [0, {}], since axis {} has {} bytes, "
      "got {}.",
      2 * pairs, axis, pairs, orig_len);
  // Duplicates each byte before any computation, so that compiled programs store no intermediate
  // values.
  Shape shape = packed.shape();
  shape[axis] = 2 * pairs;
  const Tensor bytes = ops::cast(packed, dtype);
  const Tensor twice = ops::reshape(ops::stack({bytes, bytes}, axis + 1), shape);
  Shape along(std::vector<int64_t>(static_cast<size_t>(packed.rank() - axis), 1));
  along[0] = 2 * pairs;
  const Tensor is_upper = ops::bitwise_and(ops::arange(2 * pairs, DType::Int32), 1);
  const Tensor factors = ops::cast(ops::reshape(16 - is_upper * 15, along), dtype);
  const Tensor uppers = ops::multiply(twice, factors);  // moves a lower half into the upper bits
  return ops::slice_axis(ops::right_shift(uppers, 4), axis, 0, orig_len);
}

QuantizedGroups abs_max_quantize_grouped_with_zero_point(const Tensor& inputs, int64_t block_size,
                                                         const GroupedQuantizeOptions& options) {
  constexpr const char* kWho = "abs_max_quantize_grouped_with_zero_point";
  const auto [low, high] = options.value_range;
  check<InvalidArgument>(inputs.rank() == 2 && is_floating(inputs.dtype()),
                         "{}: expected a matrix of floating-point numbers, got {} of shape {}.",
                         kWho, inputs.dtype(), inputs.shape());
  check<InvalidArgument>(block_size > 0, "{}: expected a block_size > 0, got {}.", kWho,
                         block_size);
  check_range(kWho, options.dtype, options.value_range);
  check_range(kWho, DType::Int8, options.value_range);  // zero points are int8
  const int64_t rows = inputs.dim(0), columns = inputs.dim(1);
  block_size = std::min(block_size, std::max<int64_t>(rows, 1) + 1);  // limits the zero padding
  const int64_t groups = rows / block_size + (rows % block_size > 0 ? 1 : 0);
  const int64_t all = groups * block_size;
  const Tensor x = ops::reshape(padded(inputs, 0, all), {groups, block_size, columns});
  const Tensor least = ops::min(x, {1}, true), largest = ops::max(x, {1}, true);
  const Tensor scale = ops::divide(ops::add(largest - least, options.epsilon), high - low);
  const Tensor zero = ops::clip(ops::add(ops::round(ops::divide(-least, scale)), low), low, high);
  const Tensor values = ops::clip(ops::add(ops::round(ops::divide(x, scale)), zero), low, high);
  const Tensor whole = ops::reshape(ops::cast(values, options.dtype), {all, columns});
  return {ops::slice_axis(whole, 0, 0, rows), ops::squeeze(scale, 1),
          ops::cast(ops::squeeze(zero, 1), DType::Int8)};
}

}  // namespace cornu::quantizers

namespace cornu {
namespace {

constexpr const char* kInt8Config = "Int8QuantizationConfig";
constexpr const char* kInt4Config = "Int4QuantizationConfig";

}  // namespace

QuantizationConfig::QuantizationConfig(const quantizers::Int8QuantizationConfig& config)
    : mode_("int8"),
      weight_quantizer_(config.weight_quantizer),
      activation_quantizer_(config.activation_quantizer) {}

QuantizationConfig::QuantizationConfig(const quantizers::Int4QuantizationConfig& config)
    : mode_("int4"),
      weight_quantizer_(config.weight_quantizer),
      activation_quantizer_(config.activation_quantizer),
      block_size_(config.block_size) {
  const int64_t block_size = config.block_size.value_or(-1);
  check<InvalidArgument>(
      block_size > 0 || block_size == -1,
      "{}: expected a block_size > 0, or -1 or none for a scale each output, got "
      "{}.",
      kInt4Config, block_size);
  check<InvalidArgument>(block_size < 0 || !(weight_quantizer_ || activation_quantizer_),
                         "{}: expected no quantizers with a block_size, got some with {}. Omit "
                         "them, or set .block_size = -1.",
                         kInt4Config, block_size);
  const Json options = weight_quantizer_ ? weight_quantizer_->get_config() : Json::object();
  const Json* range = options.find("value_range");
  check<InvalidArgument>(!range || *range == Json(std::vector<int64_t>{-8, 7}),
                         "{}: expected a weight_quantizer of the value_range (-8, 7), got {}.",
                         kInt4Config, range ? range->excerpt() : "");
}

Json config_value(const QuantizationConfig& config) {
  if (!config) return {};
  Json options = Json::object({{"weight_quantizer", serialize(config.weight_quantizer())},
                               {"activation_quantizer", serialize(config.activation_quantizer())}});
  const bool is_int4 = config.mode() == "int4";
  if (is_int4) options.set("block_size", config_value(config.block_size()));
  return serialized_form("keras.quantizers", is_int4 ? kInt4Config : kInt8Config, options);
}

void set_from_config(const Json& json, QuantizationConfig& config) {
  config = {};
  if (json.is_null()) return;
  const SerializedObject object = read_serialized(json, "quantization_config");
  check<Unimplemented>(object.name == kInt8Config || object.name == kInt4Config,
                       "Config: expected a quantization_config of the class {} or {}, got {}: only "
                       "int8 and int4 are available here. Quantize the model with one of these in "
                       "Keras.",
                       kInt8Config, kInt4Config, printable(object.name));
  const Quantizer weights = quantizer_from_json(object.config.at("weight_quantizer"));
  const Quantizer activations = quantizer_from_json(object.config.at("activation_quantizer"));
  if (object.name == kInt8Config) {
    config = quantizers::Int8QuantizationConfig{weights, activations};
    return;
  }
  std::optional<int64_t> block_size;  // the default for files that predate this field
  ConfigReader(object.config)("block_size", block_size);
  config = quantizers::Int4QuantizationConfig{weights, activations, block_size};
}

}  // namespace cornu
