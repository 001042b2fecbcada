// SPDX-License-Identifier: Apache-2.0
#include "applications/blocks.h"

#include "layers/layers.h"

namespace cornu::applications {

Tensor normalized(const Tensor& x, const std::string& name) {
  return layers::BatchNormalization({.epsilon = 1.001e-5, .name = name})(x);
}

Tensor rectified(const Tensor& x, const std::string& name) {
  return layers::Activation({.activation = "relu", .name = name})(x);
}

Tensor padded(const Tensor& x, int64_t width, const std::string& name) {
  return layers::ZeroPadding2D({.padding = width, .name = name})(x);
}

}  // namespace cornu::applications
