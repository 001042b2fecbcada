// SPDX-License-Identifier: Apache-2.0
// Building blocks of EfficientNet and EfficientNetV2. Internal: included by their .cc files.
#pragma once

#include <cstdint>
#include <string>

#include "applications/architecture.h"
#include "framework/model/parts.h"

namespace cornu::applications {

// The initializer of convolution kernels.
Initializer of_convolutions();

// Batch normalization followed by swish.
Tensor activated(const Tensor& x, const std::string& bn, const std::string& name,
                 double momentum = 0.99);

// A pointwise (1 x 1) convolution.
Tensor pointwise(const Tensor& x, int64_t filters, const std::string& name,
                 const Activation& activation = {}, bool use_bias = false);

// Squeeze and excitation: weights channels by factors computed from all pixels.
Tensor excited(const Tensor& x, int64_t squeezed, const std::string& prefix);

// Adds the block's inputs to `x`; in training, whole examples of `x` are dropped.
Tensor with_shortcut(const Tensor& x, const Tensor& inputs, double drop_rate,
                     const std::string& prefix);

// Adds dropout between the pooling and the classifier.
void set_efficientnet_top(Architecture& architecture, double dropout);

}  // namespace cornu::applications
