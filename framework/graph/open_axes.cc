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
  for (size_t i = 0; i < types.size(); ++i) {
    Shape& shape = types[i].shape;
    const Shape& other = others[i].shape;
    CORNU_ASSERT(shape.rank(), ==, other.rank());
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] != other[axis]) shape[axis] = kUnknown;
    }
  }
  return types;
}

}  // namespace cornu
