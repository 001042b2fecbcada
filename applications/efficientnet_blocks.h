// SPDX-License-Identifier: Apache-2.0
// What EfficientNet and EfficientNetV2 are built of. Internal: their .cc files include it.
#pragma once

#include <cstdint>
#include <string>

#include "applications/architecture.h"
#include "framework/model/parts.h"

namespace cornu::applications {

// Of the kernels of convolutions.
Initializer of_convolutions();

// Normalized, then swish.
Tensor activated(const Tensor& x, const std::string& bn, const std::string& name,
                 double momentum = 0.99);

// A convolution of single pixels.
Tensor pointwise(const Tensor& x, int64_t filters, const std::string& name,
                 const Activation& activation = {}, bool use_bias = false);

// Channels weighed by what all pixels of each say (squeeze and excitation).
Tensor excited(const Tensor& x, int64_t squeezed, const std::string& prefix);

// `x` plus the block's inputs; whole examples of `x` are dropped in training.
Tensor with_shortcut(const Tensor& x, const Tensor& inputs, double drop_rate,
                     const std::string& prefix);

// Dropout between the pooling and the classes.
void set_efficientnet_top(Architecture& architecture, double dropout);

}  // namespace cornu::applications
