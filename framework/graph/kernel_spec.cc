// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/kernel_spec.h"

#include "framework/core/error.h"

namespace cornu {

std::string types_text(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& type : types) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type.dtype, type.shape);
  }
  return text;
}

ReduceOp reduce_op_of(const KernelSpec& spec) {
  const std::string& name = spec.attributes.get_string("reduce");
  if (name == "sum") return ReduceOp::Sum;
  if (name == "mean") return ReduceOp::Mean;
  if (name == "min") return ReduceOp::Min;
  check<InvalidArgument>(
      name == "max", "all_reduce: expected reduce to be sum, mean, min or max, got \"{}\".", name);
  return ReduceOp::Max;
}

}  // namespace cornu
