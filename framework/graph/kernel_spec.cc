// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/kernel_spec.h"

#include <initializer_list>

#include "framework/core/error.h"
#include "framework/graph/reduce_op.h"

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
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max}) {
    if (name == name_of(op)) return op;
  }
  raise<InvalidArgument>("all_reduce: expected reduce to be sum, mean, min or max, got \"{}\".",
                         name);
}

}  // namespace cornu
