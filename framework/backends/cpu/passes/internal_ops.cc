// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/passes/internal_ops.h"

#include <mutex>

#include "framework/graph/graph.h"
#include "framework/graph/passes/group_body.h"

namespace cornu::cpu {
namespace {

using Types = std::vector<TensorType>;
using TypeSpan = std::span<const TensorType>;

Types infer_as(std::string_view op, TypeSpan inputs, const Attributes& attributes) {
  return OpRegistry::global().at(op).infer(inputs.first(2), attributes);
}

Shape pooled_shape(const Shape& x, const std::vector<int64_t>& window,
                   const std::vector<int64_t>& strides, const std::vector<int64_t>& padding) {
  Shape shape = x;
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 1;
    const int64_t padded = x[axis] + padding[2 * i] + padding[2 * i + 1];
    shape[axis] = padded < window[i] ? 0 : (padded - window[i]) / strides[i] + 1;
  }
  return shape;
}

Types infer_max_pool_with_index(TypeSpan inputs, const Attributes& attributes) {
  const Shape shape = pooled_shape(inputs[0].shape, attributes.get_ints("window"),
                                   attributes.get_ints("strides"), attributes.get_ints("padding"));
  return {{inputs[0].dtype, shape}, {DType::UInt8, shape}};
}

Types infer_max_pool_scatter(TypeSpan inputs, const Attributes& attributes) {
  return {{inputs[0].dtype, attributes.get_shape("input_shape")}};
}

Types infer_conv_pool(TypeSpan inputs, const Attributes& attributes) {
  const Types conv = infer_as("conv", inputs, attributes);
  const Shape shape =
      pooled_shape(conv[0].shape, attributes.get_ints("window"),
                   attributes.get_ints("pool_strides"), attributes.get_ints("pool_padding"));
  return {{conv[0].dtype, shape}, {DType::UInt8, shape}};
}

Types infer_conv_pool_filter_grad(TypeSpan inputs, const Attributes& attributes) {
  const Shape filter = attributes.get_shape("filter_shape");
  return {{inputs[1].dtype, filter}, {inputs[1].dtype, Shape{filter.back()}}};
}

Types infer_random_mask(TypeSpan, const Attributes& attributes) {
  return {{DType::Bool, attributes.get_shape("shape")}};
}

void register_all(OpRegistry& registry) {
  const auto add = [&](const char* name, InferFunction infer) {
    registry.add(
        {.name = name, .infer = std::move(infer), .vjp = {}, .traits = {.of_passes = true}});
  };
  add("max_pool_with_index", infer_max_pool_with_index);
  add("max_pool_scatter", infer_max_pool_scatter);
  add("conv_pool", infer_conv_pool);
  add("conv_pool_filter_grad", infer_conv_pool_filter_grad);
  add("random_mask", infer_random_mask);
  add("row_blocks", passes::infer_body);
}

}  // namespace

const OpDef& internal_op(std::string_view name) {
  static std::once_flag once;
  std::call_once(once, [] { register_all(OpRegistry::global()); });
  return OpRegistry::global().at(name);
}

}  // namespace cornu::cpu
