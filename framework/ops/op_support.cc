// SPDX-License-Identifier: Apache-2.0
#include "cornu/ops/op_support.h"

#include <algorithm>
#include <cstring>

#include "cornu/ops/register.h"

namespace cornu::ops {

const OpDef& op(std::string_view name) {
  ensure_registered();
  return OpRegistry::global().at(name);
}

Shape reduced_shape(const Shape& shape, std::span<const int64_t> axes, bool keepdims) {
  Shape result;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!reduced) {
      result.push_back(shape[axis]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

Tensor constant(DType dtype, double value) {
  Tensor scalar = Tensor::empty(Shape{}, dtype);
  dispatch_dtype(dtype, [&](auto t) {
    const auto typed = static_cast<decltype(t)>(value);
    std::memcpy(scalar.mutable_raw(), &typed, sizeof(typed));
  });
  return scalar;
}

Tensor constant_like(const Tensor& tensor, double value) { return constant(tensor.dtype(), value); }

void require_static(const Tensor& x, std::string_view who) {
  check<InvalidArgument>(x.shape().is_static(),
                         "{}: expected a known shape, got {}. Use it within a layer's call, where "
                         "shapes are known.",
                         who, x.shape());
}

}  // namespace cornu::ops
