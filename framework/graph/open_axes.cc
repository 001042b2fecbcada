// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/open_axes.h"

#include "framework/core/error.h"

namespace cornu {

std::vector<TensorType> with_sizes(std::vector<TensorType> types, int64_t size, int64_t step) {
  for (TensorType& type : types) {
    for (int64_t axis = 0; axis < type.shape.rank(); ++axis) {
      if (type.shape[axis] != kUnknown) continue;
      type.shape[axis] = size;
      size += step;
    }
  }
  return types;
}

std::vector<TensorType> open_where_different(std::vector<TensorType> types,
                                             const std::vector<TensorType>& others) {
  constexpr const char* kExpected =
      "expected results whose number and ranks are the same for inputs of all sizes, got {} and "
      "{}. A function may not depend on anything but its inputs.";
  check<InvalidArgument>(types.size() == others.size(), kExpected, types.size(), others.size());
  for (size_t i = 0; i < types.size(); ++i) {
    Shape& shape = types[i].shape;
    const Shape& other = others[i].shape;
    check<InvalidArgument>(shape.rank() == other.rank(), kExpected, shape, other);
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] != other[axis]) shape[axis] = kUnknown;
    }
  }
  return types;
}

}  // namespace cornu
