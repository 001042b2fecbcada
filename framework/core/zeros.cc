// SPDX-License-Identifier: Apache-2.0
#include "framework/core/zeros.h"

#include <cstring>

namespace cornu {

Tensor host_zeros(const Shape& shape, DType dtype) {
  Tensor zeros = Tensor::empty(shape, dtype);
  std::memset(zeros.mutable_raw(), 0, zeros.bytes());
  return zeros;
}

}  // namespace cornu
