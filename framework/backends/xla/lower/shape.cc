// SPDX-License-Identifier: Apache-2.0
// Ops that rearrange elements, and constants.

#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

using Ints = std::vector<int64_t>;

Values lower_reshape(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  return {reshape(to, in[0], spec.outputs[0].shape)};
}

Values lower_transpose(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  return {transpose(to, in[0], spec.attributes.get_ints("permutation"))};
}

Values lower_concatenate(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  return {concatenate(to, in, spec.attributes.get_int("axis"))};
}

Values lower_slice(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const Ints& begin = spec.attributes.get_ints("begin");
  const Ints& strides = spec.attributes.get_ints("strides");
  Ints end;
  for (size_t i = 0; i < begin.size(); ++i) {
    const int64_t size = spec.outputs[0].shape[static_cast<int64_t>(i)];
    end.push_back(size == 0 ? begin[i] : begin[i] + (size - 1) * strides[i] + 1);
  }
  return {slice(to, in[0], begin, end, strides)};
}

Values lower_pad(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const Attributes& attributes = spec.attributes;
  return {pad(to, in[0], in[1], attributes.get_ints("low"), attributes.get_ints("high"),
              attributes.get_ints("interior"))};
}

Values lower_reverse(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  return {reverse(to, in[0], spec.attributes.get_ints("axes"))};
}

Values lower_broadcast(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  return {spread(to, in[0], spec.outputs[0].shape)};
}

Values lower_iota(const KernelSpec& spec, std::span<const Value>, Writer& to) {
  const TensorType& type = spec.outputs[0];
  const int64_t axis = spec.attributes.get_int("axis");
  if (type.dtype != DType::Bool) return {iota(to, type, axis)};
  return {cast(to, iota(to, {DType::Int32, type.shape}, axis), DType::Bool)};
}

Values lower_constant(const KernelSpec& spec, std::span<const Value>, Writer& to) {
  return {constant(to, spec.attributes.get_tensor("value"))};
}

// Between types of different sizes, StableHLO has a separate axis for the parts.
Values lower_bitcast(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  const TensorType& type = spec.outputs[0];
  const auto from = static_cast<int64_t>(size_of(in[0].dtype()));
  const auto into = static_cast<int64_t>(size_of(type.dtype));
  if (from == into) return {bitcast(to, in[0], type)};
  if (from > into) {
    const Shape parts = in[0].shape().concat({from / into});
    return {reshape(to, bitcast(to, in[0], {type.dtype, parts}), type.shape)};
  }
  const Value parts = reshape(to, in[0], type.shape.concat({into / from}));
  return {bitcast(to, parts, type)};
}

// The gradient that it represents has been applied when gradients were computed.
Values lower_custom_gradient(const KernelSpec& spec, std::span<const Value> in, Writer&) {
  return {in.begin(), in.begin() + static_cast<int64_t>(spec.outputs.size())};
}

Values lower_barrier(const KernelSpec&, std::span<const Value> in, Writer& to) {
  return {unary(to, "optimization_barrier", in[0])};
}

}  // namespace

void register_shape(LoweringTable& table) {
  table.add("reshape", lower_reshape);
  table.add("optimization_barrier", lower_barrier);
  table.add("transpose", lower_transpose);
  table.add("concatenate", lower_concatenate);
  table.add("slice", lower_slice);
  table.add("pad", lower_pad);
  table.add("reverse", lower_reverse);
  table.add("broadcast_to", lower_broadcast);
  table.add("iota", lower_iota);
  table.add("constant", lower_constant);
  table.add("bitcast", lower_bitcast);
  table.add("custom_gradient", lower_custom_gradient);
}

}  // namespace cornu::xla
