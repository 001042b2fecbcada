// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "applications/imagenet_utils.h"
#include "applications/options.h"
#include "framework/train/model.h"

namespace cornu::applications {

// keras.applications.ResNet50, 101 and 152 (He et al., "Deep residual learning for image
// recognition", CVPR 2016), for images from resnet::preprocess_input, with sides of at least 32.
// Layers have Keras's names, so Keras's weight files can be loaded. Throws InvalidArgument for
// inconsistent options, and NotFound for missing weights.
Model ResNet50(const ApplicationOptions& options = {});
Model ResNet101(const ApplicationOptions& options = {});
Model ResNet152(const ApplicationOptions& options = {});

// Variants with normalization and relu before each convolution (He et al., "Identity mappings in
// deep residual networks", ECCV 2016), for images from resnet_v2::preprocess_input.
Model ResNet50V2(const ApplicationOptions& options = {});
Model ResNet101V2(const ApplicationOptions& options = {});
Model ResNet152V2(const ApplicationOptions& options = {});

namespace resnet {

// Converts to blue, green, red and subtracts the ImageNet means.
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace resnet

namespace resnet_v2 {

// Scales pixels to [-1, 1].
Tensor preprocess_input(const Tensor& x);
using imagenet_utils::decode_predictions;

}  // namespace resnet_v2

}  // namespace cornu::applications
