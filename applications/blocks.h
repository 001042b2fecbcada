// SPDX-License-Identifier: Apache-2.0
// Building blocks shared by several families. Internal: included by applications' .cc files.
#pragma once

#include <string>

#include "framework/core/tensor.h"

namespace cornu::applications {

// BatchNormalization with an epsilon of 1.001e-5, as in ResNet and DenseNet.
Tensor normalized(const Tensor& x, const std::string& name);

// relu as an Activation layer.
Tensor rectified(const Tensor& x, const std::string& name);

// Pads images with zeros, `width` on each side.
Tensor padded(const Tensor& x, int64_t width, const std::string& name = {});

}  // namespace cornu::applications
