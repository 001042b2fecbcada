// SPDX-License-Identifier: Apache-2.0
// What the families share: looking ops up, applying them, and shapes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cornu/graph/dispatch.h"

namespace cornu::ops {

// Defines every op; each family file has its register_….
void register_all(OpRegistry& registry);

// The definition of an op of this vocabulary (register_all runs first where it hasn't).
const OpDef& op(std::string_view name);

inline Tensor apply1(const OpDef& def, const std::vector<Tensor>& inputs,
                     const Attributes& attributes = {}) {
  return cornu::apply(def, inputs, attributes).front();
}

// The shape without `axes` (with 1s in their place when `keepdims`).
Shape reduced_shape(const Shape& shape, std::span<const int64_t> axes, bool keepdims);

// A scalar of `value` in `dtype`, as a constant.
Tensor constant_like(const Tensor& tensor, double value);
Tensor constant(DType dtype, double value);

// Throws InvalidArgument, naming the op, unless the shapes are static (graphs' always are).
void require_static(const Tensor& x, std::string_view who);

}  // namespace cornu::ops
