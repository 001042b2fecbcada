// SPDX-License-Identifier: Apache-2.0
// The specification that backends prepare a kernel for.
#pragma once

#include <span>
#include <string>

#include "framework/graph/communicator.h"
#include "framework/graph/op.h"

namespace cornu {

// An op on operands of these types. All arrays are row-major and contiguous.
struct KernelSpec {
  const OpDef& op;
  const Attributes& attributes;
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
};

// "float32 (2, 3), int32 ()", for errors.
std::string types_text(std::span<const TensorType> types);

// The attribute "reduce" of an all_reduce. Throws InvalidArgument for an unknown name.
ReduceOp reduce_op_of(const KernelSpec& spec);

}  // namespace cornu
