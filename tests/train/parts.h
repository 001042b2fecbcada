// SPDX-License-Identifier: Apache-2.0
// What the tests of losses and metrics share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cornu/core/tensor.h"

namespace cornu::test {

// The text of the error of this kind that `body` throws; empty without one.
template <class Kind = InvalidArgument>
std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Kind& error) {
    return error.what();
  }
  return "";
}

inline Tensor floats(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from(values, shape);
}
inline Tensor ints(const std::vector<int32_t>& values) { return Tensor::from(values); }

}  // namespace cornu::test
