// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the tests of losses and metrics.
#pragma once

#include <vector>

#include "framework/core/tensor.h"
#include "tests/support/errors.h"

namespace cornu::test {

inline Tensor floats(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}
inline Tensor ints(const std::vector<int32_t>& values) { return Tensor::from(values); }

}  // namespace cornu::test
