// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.DenseNet121, 169 and 201 (Huang et al., "Densely connected convolutional
// networks", CVPR 2017), for pictures that densenet::preprocess_input made, each side at least 32.
// Files of weights and errors: as ResNet50's.
Model DenseNet121(const ApplicationOptions& options = {});
Model DenseNet169(const ApplicationOptions& options = {});
Model DenseNet201(const ApplicationOptions& options = {});

namespace densenet {

// Each color less its mean in ImageNet, in standard deviations.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace densenet

}  // namespace cornu::applications
