// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/row_ops.h"

#include <mutex>
#include <utility>
#include <vector>

namespace cornu::passes {
namespace {

using Types = std::vector<TensorType>;
using TypeSpan = std::span<const TensorType>;

Types infer_sum_rows(TypeSpan inputs, const Attributes& attributes) {
  const Shape count = {inputs[0].shape.num_elements()};
  return {{DType::Int64, count},
          {inputs[1].dtype, count.concat(attributes.get_shape("shape").slice(1))}};
}

Types infer_all_reduce_rows(TypeSpan, const Attributes& attributes) {
  const std::vector<int64_t>& shapes = attributes.get_ints("shapes");
  const std::vector<int64_t>& whole = attributes.get_ints("whole");
  Types types;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!whole[i]) types.push_back({DType::Int64, Shape{shapes[2 * i]}});
    types.push_back({DType::Float32, Shape{shapes[2 * i], shapes[2 * i + 1]}});
  }
  return types;
}

Types infer_update_rows(TypeSpan inputs, const Attributes& attributes) {
  const TypeSpan tables = inputs.subspan(2, static_cast<size_t>(attributes.get_int("tables")));
  return {tables.begin(), tables.end()};
}

void register_all(OpRegistry& registry) {
  const auto add = [&](const char* name, InferFunction infer, OpTraits traits = {}) {
    traits.of_passes = true;
    registry.add({.name = name, .infer = std::move(infer), .vjp = {}, .traits = traits});
  };
  add("sum_rows", infer_sum_rows, {.checks_values = true});
  add("gather_rows", [](TypeSpan inputs, const Attributes& attributes) {
    return OpRegistry::global().at("gather").infer(inputs, attributes);
  });
  add("all_reduce_rows", infer_all_reduce_rows, {.collective = true});
  add("put_rows", [](TypeSpan inputs, const Attributes&) { return Types{inputs[0]}; });
  add("update_rows", infer_update_rows);
}

}  // namespace

const OpDef& row_op(std::string_view name) {
  static std::once_flag once;
  std::call_once(once, [] { register_all(OpRegistry::global()); });
  return OpRegistry::global().at(name);
}

}  // namespace cornu::passes
